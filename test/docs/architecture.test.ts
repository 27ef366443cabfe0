/** docs/architecture.md and docs/design: the map has every folder of src, and no page names a file that does not exist. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readPage, root } from '../support/documentation.ts'

const page = readPage('docs/architecture.md')
const designs = readdirSync(join(root, 'docs/design')).map((name) => readPage(`docs/design/${name}`))
const [, map = ''] = /^```tree\n(.*?)^```$/ms.exec(page) ?? []
const mapped = [...map.matchAll(/^(src\/(?:\S+\/)?) +(\S.*)$/gm)].map(([, folder = '', phrase = '']) => ({
  folder,
  phrase,
}))

describe('the architecture documents', () => {
  it('lists each page of docs/design', () => {
    const listed = [...page.matchAll(/^\| \[.*?\]\(design\/(.+?)\)/gm)].map(([, name]) => name)
    expect(listed.toSorted()).toEqual(readdirSync(join(root, 'docs/design')).toSorted())
  })

  it('has a phrase for every folder of src', () => {
    const folders = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => `src${join(parentPath, name).slice(join(root, 'src').length)}/`)
    expect(mapped.map(({ folder }) => folder).toSorted()).toEqual(['src/', ...folders].toSorted())
  })

  it('names no file that does not exist', () => {
    const inMap = mapped.flatMap(({ folder, phrase }) =>
      [...phrase.matchAll(/[\w-]+\.tsx?\b/g)].map(([file]) => join(folder, file)),
    )
    const inText = [page, ...designs].flatMap((text) =>
      [...text.matchAll(/`([\w-]+(?:\/[\w-]+)*\.tsx?)`/g)].map(([, file = '']) => file),
    )
    const places = inText.map((file) => (file.startsWith('test/') ? file : join('src', file)))
    expect([...inMap, ...places].filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
