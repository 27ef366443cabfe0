/** docs/export.md: its commands answer what it says, and its table has the parameters of each kind. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kindNames } from '../../src/api/export/kinds/kind.ts'
import { kinds } from '../../src/api/export/kinds/kinds.ts'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const page = readPage('docs/export.md')

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

describe('docs/export.md', () => {
  it.skipIf(!hasCurl)('answers what it says', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'export-'))
    const blocks = blocksOf(page).map(({ language, text }) => ({
      language,
      text: text.replace('-o reports.csv', `-o '${folder}/reports.csv'`),
    }))
    await execute(blocks, { url: server.url })
    expect((await readdir(folder)).toSorted()).toEqual(['reports.csv', 'reports.csv.manifest.json'])
    await rm(folder, { recursive: true })
  })

  it('has the parameters of each kind', () => {
    const rows = [...page.matchAll(/^\| (`[^|]+`) \| ([^|]+) \| [^|]+ \|$/gm)]
    const documented = rows.flatMap(([, names = '', scope = '']) => {
      const isExcluded = scope.startsWith('all')
      const named = kindNames.filter((kind) => scope.includes(`\`${kind}\``))
      const meant = isExcluded ? kindNames.filter((kind) => !named.includes(kind)) : named
      return [...names.matchAll(/`(\w+)`/g)].flatMap(([, name]) => meant.map((kind) => `${kind} ${name}`))
    })
    const actual = kindNames.flatMap((kind) =>
      ['format', 'after', ...kinds[kind].accepts].map((name) => `${kind} ${name}`),
    )
    expect(documented.filter((each) => / \w+$/.test(each)).toSorted()).toEqual(actual.toSorted())
  })
})
