/** Guesses of credentials are logged with a limit: a caller without a credential cannot fill the disk. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

describe.each(stores)('a thousand guesses on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store, env: { DEVICE_AUTH: 'token', DEVICE_RATE: 'off', ADDRESS_RATE: 'off' } })
  })
  afterAll(() => server.stop())

  it('are a few lines in the log and in the audit log, of routes and not of paths', async () => {
    const guess = (n: number) =>
      server.post(`/device/press-${n}/deployment/${'x'.repeat(200)}${n}/status`, '{}', { authorization: `Bearer ${n}` })
    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, n) => guess(n)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]))
    await expect
      .poll(async () => (await server.query('{ auditLog(first: 100) { nodes { action times } } }')).auditLog.nodes)
      .toContainEqual({ action: '/device/{}/deployment/{}/status', times: expect.any(Number) })
    const { nodes } = (await server.query('{ auditLog(first: 100) { nodes { action times } } }')).auditLog
    expect(nodes.length).toBeLessThanOrEqual(21)
    const lines = server.logged.filter(({ msg }) => String(msg).startsWith('refused'))
    expect(lines.length).toBeLessThanOrEqual(20)
    expect(JSON.stringify(lines)).not.toContain('xxxx')
  })
})
