/**
 * The README is executed: each `sh` block against a running server, in order; the `json` block after it is its whole answer, and a
 * `text` block is what the latest stream (curl -N) goes on with. "…" stands for what differs from time to time.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { variables } from '../src/config.ts'
import { type RunningApp, startApp } from './support/app.ts'
import { blocksOf, execute, hasCurl, readPage, root } from './support/documentation.ts'

const readme = readPage('README.md')
const blocks = blocksOf(readme).filter(({ language }) => ['sh', 'json', 'text'].includes(language))
/** They would run this test again, or a server that runs for ever. */
const recursing = ['npm ci && npm start\n', 'npm ci && npm test\n']

describe('the commands of the README', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  it('begin with those that run it and end the first screen with those that test it', () => {
    const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
    expect(commands[0]).toBe(recursing[0])
    expect(commands.filter((command) => recursing.includes(command))).toEqual(recursing)
    expect(readme.indexOf('npm ci && npm test')).toBeLessThan(readme.indexOf('\n## '))
  })

  it.skipIf(!hasCurl && process.env.ROLLCALL_REQUIRE_POSTGRES !== '1')('answer what it says', async () => {
    const streams = await execute(blocks, { url: server.url, skip: (command) => recursing.includes(command) })
    expect(streams).toBe(2)
  })
})

describe('the README', () => {
  it('has every variable of the environment in its table, and no other', () => {
    const [, section = ''] = /^## Configuration\n(.*?)^## /ms.exec(readme) ?? []
    const table = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
    expect(table.toSorted()).toEqual([...variables].toSorted())
  })

  it('names no file that is not there', () => {
    const named = [...readme.matchAll(/`((?:src|test|drizzle)\/[\w./-]+|[\w-]+\.(?:graphql|json|ts))`/g)].map(
      ([, file = '']) => file,
    )
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  it('has a phrase for every file of src in its map', () => {
    const [, map = ''] = /^```tree\n(.*?)^```$/ms.exec(readme) ?? []
    let folder = ''
    const mapped = map.split('\n').flatMap((line) => {
      folder = /^(\S+)\//.exec(line)?.[1] ?? folder
      return [...line.matchAll(/[\w-]+\.(?:tsx?|css)\b/g)].map(([file]) => `${folder}/${file}`)
    })
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    const sources = files
      // Generated where types are checked.
      .filter((file) => /\.(tsx?|css)$/.test(file) && !file.endsWith('.d.ts'))
      .map((file) => `src/${file}`)
    expect({ missing: sources.filter((file) => !mapped.includes(file)) }).toEqual({ missing: [] })
    expect({ gone: mapped.filter((file) => !sources.includes(file)) }).toEqual({ gone: [] })
  })
})
