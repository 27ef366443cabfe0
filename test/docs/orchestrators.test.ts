import { afterAll, beforeAll, describe, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

// Without curl there is nothing that could execute them; where PostgreSQL is required curl is installed too.
describe
  .skipIf(!hasCurl && process.env.ROLLCALL_REQUIRE_POSTGRES !== '1')
  .each([['docs/orchestrators.md'], ['docs/notifications.md']])('%s', (page) => {
  it('answers what it says', async () => {
    await execute(blocksOf(readPage(page)), { url: server.url })
  })
})
