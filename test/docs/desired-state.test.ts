import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

describe('docs/desired-state.md', () => {
  it.skipIf(!hasCurl && process.env.ROLLCALL_REQUIRE_POSTGRES !== '1')('answers what it says', async () => {
    await execute(blocksOf(readPage('docs/desired-state.md')), { url: server.url })
    const { device } = await server.query('{ device(deviceId: "press-1") { manifestVersion capabilities { vendor } } }')
    expect(device).toEqual({ manifestVersion: '3', capabilities: { vendor: 'Presses' } })
  })
})
