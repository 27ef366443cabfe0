import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasGit } from '../support/clients/git-client.ts'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp({ env: { GIT: 'git' } })
})
afterAll(() => server.stop())

describe('docs/desired-state.md', () => {
  it.skipIf(!hasCurl)('answers what it says', async () => {
    const page = readPage('docs/desired-state.md')
    // What is there where git is.
    const told = hasGit ? page : page.replace(/^## With git\n.*?(?=^## )/ms, '')
    await execute(blocksOf(told), { url: server.url, cwd: temporaryFolder() })
    const { device } = await server.query('{ device(deviceId: "press-1") { manifestVersion capabilities { vendor } } }')
    expect(device).toEqual({ manifestVersion: '3', capabilities: { vendor: 'Presses' } })
  })
})
