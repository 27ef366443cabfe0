import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

// Without curl nothing can execute the page; where PostgreSQL is required curl is installed too.
describe.skipIf(!hasCurl)('docs/terminal.md', () => {
  it('answers what it says', async () => {
    expect(await execute(blocksOf(readPage('docs/terminal.md')), { url: server.url })).toBe(0)
  })
})
