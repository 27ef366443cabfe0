/** Comments cite only what a reader can find: files of the repository, sections of docs/wire.md, and public documents. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { filesOfCheckout, readPage, root } from './support/documentation.ts'

const texts = filesOfCheckout()
  .filter((file) => /^(src|test|docs|deploy|\.ci)\/.*\.(tsx?|md|css|conf|ya?ml|mjs)$|^[A-Z]+\.md$/.test(file))
  .filter((file) => file !== 'test/citations.test.ts')
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))

it('names no document that is not in the repository', () => {
  const unknown = /\b(PRODUCT|WIRE|ENGINE|STYLE|PITFALLS)\b(?!_|=|"|')|\bissue #?\d+/
  expect(
    texts.filter(({ text }) => unknown.test(text)).map(({ file, text }) => `${file}: ${unknown.exec(text)?.[0]}`),
  ).toEqual([])
})

it('cites sections of docs/wire.md that exist', () => {
  const sections = new Set([...readPage('docs/wire.md').matchAll(/^##+ ([\d.]*\d)/gm)].map(([, number]) => number))
  const cited = texts.flatMap(({ file, text }) =>
    [...text.matchAll(/docs\/wire\.md((?:,? §[\d.]*\d)+)/g)].flatMap(([, all = '']) =>
      [...all.matchAll(/§([\d.]*\d)/g)].map(([, number]) => ({ file, number })),
    ),
  )
  expect(cited.length).toBeGreaterThan(20)
  expect(cited.filter(({ number }) => !sections.has(number))).toEqual([])
})

it('links to files that exist', () => {
  const dead = texts
    .filter(({ file }) => file.endsWith('.md'))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/\]\(([^)#\s]+)(#[^)\s]*)?\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link) && !existsSync(join(root, dirname(file), link)))
        .map((link) => `${file}: ${link}`),
    )
  expect(dead).toEqual([])
})
