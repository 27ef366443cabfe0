/**
 * The README is executed: each `sh` block against a running server, in order; the `json` block after it is its whole answer, and a
 * `text` block is what the latest stream (curl -N) goes on with. "…" stands for what differs from time to time.
 */
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { variables } from '../src/server/config/config.ts'
import { blocksOf, execute, filesOfCheckout, hasCurl, readPage, root, usualUrl } from './support/documentation.ts'
import { temporaryFolder } from './support/folder.ts'
import { type RunningApp, startApp } from './support/servers/app.ts'
import { startNode } from './support/servers/child.ts'
import { linkPackages } from './support/servers/package.ts'

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

  it.skipIf(!hasCurl)('answer what it says, from the first start in a new checkout on', async () => {
    const checkout = mkdtempSync(join(tmpdir(), 'rollcall-checkout-'))
    onTestFinished(() => rmSync(checkout, { recursive: true, force: true }))
    for (const name of filesOfCheckout()) cpSync(join(root, name), join(checkout, name))
    // `npm ci` is what CI has done before.
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
    const [program = '', ...args] = JSON.parse(readPage('package.json')).scripts.start.split(' ')
    expect(program).toBe('node')
    const started = startNode(args, { PORT: '0' }, process.execPath, checkout)
    const url = (await started.said(/^Rollcall listens on http/)).split(' ').at(-1) ?? ''
    const streams = await execute(blocks, { url, skip: (command) => recursing.includes(command) })
    expect(streams).toBe(1)
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain('<title>Rollcall</title>')
  })

  it('have a frontend that goes on from its answer', async () => {
    const [program = ''] = blocksOf(readme).flatMap(({ language, text }) => (language === 'ts' ? [text] : []))
    const folder = temporaryFolder()
    linkPackages(folder)
    const args = ['--input-type=module-typescript', '-e', program.replaceAll(usualUrl, server.url)]
    const child = startNode(args, {}, process.execPath, folder)
    await expect.poll(async () => /subscribers\{kind="changes"\} 1/.test(await server.app.metrics.print())).toBe(true)
    const report = { deploymentId: 'front', status: { state: 'installed' }, components: [] }
    await server.post('/device/edge-9/deployment/front/status', report)
    await child.said(/DEPLOYMENT_STATE_CHANGED/)
    child.process.kill()
    await child.ended
  })
})

describe('the README', () => {
  it('has the variables that most people set, as docs/configuration.md has them all', () => {
    const tableOf = (page: string): string[] =>
      [...page.matchAll(/^\| `([A-Z][A-Z0-9_]*)` \|/gm)].map(([, name = '']) => name)
    expect(tableOf(readPage('docs/configuration.md')).toSorted()).toEqual([...variables].toSorted())
    expect(tableOf(readme)).toHaveLength(8)
    expect(tableOf(readme).filter((name) => !variables.includes(name))).toEqual([])
  })

  it('is short enough to be read', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(251)
  })

  it('names no file that is not there', () => {
    const named = [...readme.matchAll(/`((?:src|test|drizzle)\/[\w./-]+|[\w-]+\.(?:graphql|json|ts))`/g)].map(
      ([, file = '']) => file,
    )
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
