import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Child, startNode } from '../support/servers/child.ts'

describe('rollcall with API_AUTH', () => {
  const key = 'an-admin-key-for-tests-only'
  let guarded: RunningApp
  beforeAll(async () => {
    guarded = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: key } })
  })
  afterAll(() => guarded.stop())
  const ask = (...args: string[]): Child => startNode(['src/apps/cli/rollcall.ts', '--url', guarded.url, ...args])

  it('sends its token over HTTP and WebSocket', async () => {
    const body = { deploymentId: 'd', status: { state: 'installed' }, components: [] }
    await guarded.post('/device/edge/deployment/d/status', body)
    expect(await ask('counts', '--token', key).ended).toBe(0)
    expect(await ask('wait', '--for=installed', '--deployment', 'd', '--token', key).ended).toBe(0)
  })

  it('exits with 77 when the token is missing or wrong', async () => {
    for (const args of [['counts'], ['counts', '--token', 'wrong'], ['wait', '--for=installed', '--deployment', 'd']]) {
      const child = ask(...args)
      expect(await child.ended).toBe(77)
      expect(child.lines[0]).toMatch(/credential|key|token/)
    }
  })
})
