/** The program in one file (`npm run build:executable`), where there is nothing but the system's C library. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it } from 'vitest'
import { buildExecutable } from '../../src/server/build/build-executable.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/servers/child.ts'

it('serves from one file in an empty folder, with its database, its page and its commands, and finds everything again', async () => {
  const program = join(temporaryFolder(), 'rollcall')
  await buildExecutable(program)
  expect(statSync(program).mode & 0o111).toBeGreaterThan(0)
  const folder = temporaryFolder()
  const run = (...args: string[]) => startNode(args, { PATH: '', NODE_OPTIONS: '', PORT: '0' }, program, folder)
  const serve = async () => {
    const server = run('serve')
    const url = (await server.said(/^Rollcall listens on http/)).split(' ').at(-1) ?? ''
    return { ...server, url }
  }

  const first = await serve()
  const body = JSON.stringify({ deploymentId: 'hello', status: { state: 'installed' }, components: [] })
  const headers = { 'content-type': 'application/json' }
  const path = '/device/edge-1/deployment/hello/status'
  expect((await fetch(`${first.url}${path}`, { method: 'POST', headers, body })).status).toBe(201)
  for (const [address, title] of [
    ['/', 'Rollcall'],
    ['/graphql', 'GraphiQL · Rollcall'],
  ] as const) {
    const page = await (await fetch(`${first.url}${address}`, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain(`<title>${title}</title>`)
  }
  first.process.kill('SIGTERM')
  expect(await first.ended).toBe(0)
  expect(readdirSync(folder)).toEqual(['data'])

  const second = await serve()
  const counts = run('counts', '--url', second.url)
  expect(await counts.ended).toBe(0)
  expect(counts.lines).toEqual(['1 deployment: 1 installed'])
  const assistant = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const mcp = { command: program, args: ['mcp', '--url', second.url], cwd: temporaryFolder() }
  await assistant.connect(new StdioClientTransport({ ...mcp, env: { PATH: '', NODE_OPTIONS: '' } }))
  expect((await assistant.listTools()).tools.map(({ name }) => name)).toContain('what_is_wrong')
  const wrong = await assistant.callTool({ name: 'what_is_wrong', arguments: {} })
  expect(wrong.structuredContent).toMatchObject({ counts: { total: 1, installed: 1 } })
  expect((await assistant.listResources()).resources.map(({ uri }) => uri)).toContain('rollcall://docs/graphql')
  await assistant.close()
  // What a server runs to end at once, while a thread of it is blocked.
  expect(await run('-e', 'process.exit(3)').ended).toBe(3)
  expect(await run('no-such-command').ended).toBe(64)
})
