/** What no other test executes of the pages: GraphQL, configuration, commands of Docker, and links within a page. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { variables } from '../../src/server/config/config.ts'
import { blocksOf, readPage, root } from '../support/documentation.ts'

const inDocs = readdirSync(join(root, 'docs'), { encoding: 'utf8', recursive: true })
const names = ['README.md', ...inDocs.map((name) => `docs/${name}`)].filter((name) => name.endsWith('.md'))
const pages = names.map((name) => ({ name, page: readPage(name), blocks: blocksOf(readPage(name)) }))
const withoutBlocks = (page: string): string => page.replaceAll(/^```.*?^```$/gms, '')

describe('GraphQL in the pages', () => {
  const schema = buildSchema(readPage('schema.graphql'))
  /** Whole documents within a line: with selections, and nothing left out. */
  const inLine = (page: string): string[] =>
    [...withoutBlocks(page).matchAll(/`((?:\{|query|mutation|subscription)[^`\n]*)`/g)]
      .map(([, text = '']) => text)
      .filter((text) => /^\w*\s*\{\s*\w+\s*[({].*\}\s*\}$/.test(text) && !text.includes('…'))
  const documents = pages.flatMap(({ name, page, blocks }) =>
    [...blocks.filter(({ language }) => language === 'graphql').map(({ text }) => text), ...inLine(page)].map(
      (text) => [name, text] as const,
    ),
  )

  it('is valid', () => {
    expect(documents.length).toBeGreaterThan(10)
    for (const [name, text] of documents)
      expect([name, text, validate(schema, parse(text)).map(({ message }) => message)]).toEqual([name, text, []])
  })
})

describe('configuration in the pages', () => {
  const images = [...readPage('docs/operating.md').matchAll(/^([A-Z]+_IMAGE)=/gm)].map(([, name]) => name)
  const set = pages.flatMap(({ name, blocks }) =>
    blocks
      .filter(({ language }) => ['env', 'ini'].includes(language))
      .flatMap(({ text }) => [...text.matchAll(/^([A-Z][A-Z0-9_]+)=/gm)].map(([, variable]) => [name, variable])),
  )

  it('names only variables that there are', () => {
    expect(set.length).toBeGreaterThan(15)
    expect(set.filter(([, name = '']) => !variables.includes(name) && !images.includes(name))).toEqual([])
  })
})

describe('commands in the pages', () => {
  it('use only variables that the page sets or explains', () => {
    for (const { name, page, blocks } of pages) {
      const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
      const used = [...commands.join('\n').matchAll(/\$\{?([A-Z][A-Z_]+)/g)].map(([, variable = '']) => variable)
      const isKnown = (variable: string) =>
        withoutBlocks(page).includes(`\`${variable}\``) || new RegExp(`^${variable}=`, 'm').test(commands.join('\n'))
      expect([name, used.filter((variable) => !isKnown(variable))]).toEqual([name, []])
    }
  })
})

describe('commands of Docker in the pages', () => {
  const commands = pages
    .flatMap(({ page }) => [...page.matchAll(/docker compose (-f [^\n`]*)/g)])
    .map(([, text = '']) => text)

  it('name files and services that there are', () => {
    expect(commands.length).toBeGreaterThan(8)
    for (const command of commands) {
      const files = [...command.matchAll(/-f (\S+\.yaml)/g)].map(([, file = '']) => file)
      expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
      const tags = [{ tag: '!override', collection: 'seq' as const, resolve: (value: unknown) => value }]
      const services = files.flatMap((file) =>
        Object.keys(parseYaml(readPage(file), { merge: true, customTags: tags }).services),
      )
      const [, named = ''] =
        / (?:exec|stop|start|--wait) ((?:[a-z]+(?:-\d)?(?: (?=rollcall-\d))?)+)/.exec(command) ?? []
      expect([command, named.split(' ').filter((name) => name !== '' && !services.includes(name))]).toEqual([
        command,
        [],
      ])
    }
  })
})

describe('links in the pages', () => {
  const headings = (page: string): Set<string> =>
    new Set(
      [...withoutBlocks(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
        text
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      ),
    )

  it('lead to headings that there are', () => {
    const dead = pages.flatMap(({ name, page }) =>
      [...withoutBlocks(page).matchAll(/\]\(([\w./-]*)#([^)\s]+)\)/g)]
        .map(([, file = '', heading = '']) => ({ file: file === '' ? name : join(dirname(name), file), heading }))
        .filter(({ file, heading }) => !headings(readPage(file)).has(heading))
        .map(({ file, heading }) => `${name}: ${file}#${heading}`),
    )
    expect(dead).toEqual([])
  })
})
