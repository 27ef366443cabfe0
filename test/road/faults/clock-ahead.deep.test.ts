/** A replica whose clock is ahead holds what only one may do, and dies: the others take over when an ordinary lease has run out. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { startApp } from '../../support/servers/app.ts'
import { startNode } from '../../support/servers/child.ts'
import { startReceiver } from '../../support/systems/receiver.ts'

const status = (state: string) => ({ deploymentId: 'd', status: { state }, components: [] })
const hook = `mutation ($url: String!) {
  createWebhook(input: { name: "w", url: $url }) { __typename ... on UserError { message } }
}`

describe.each(postgresStores)('a replica on $name whose clock is an hour ahead', (store) => {
  it('is followed by another within a lease after it was killed', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const on = await store.create()
    onTestFinished(() => on.drop())
    const env = { SINK_ALLOW: '127.0.0.1', OFFLINE_AFTER: '2' }
    const child = startNode(['--import', './test/support/servers/hour-ahead.mjs', 'src/main.ts'], {
      ...env,
      PORT: '0',
      DATABASE_URL: on.config.url ?? '',
    })
    const [url = ''] = /http\S+/.exec(await child.said(/Rollcall listens on/)) ?? []
    const ask = async (path: string, body: object): Promise<unknown> => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      expect(answer.ok).toBe(true)
      return answer.json()
    }
    await ask('/graphql', { query: hook, variables: { url: receiver.url } })
    await ask('/device/e/deployment/d/status', status('installing'))
    // It holds the webhook, and the lease of the periodic duties.
    await receiver.until((all) => all.length > 0)
    const other = await startApp({ on, env, timeouts: { ...defaultTimeouts, duties: 200 } })
    onTestFinished(() => other.stop())
    const { session } = other.app.database
    await expect.poll(() => session.run('select 1 from leases')).toHaveLength(1)
    const told = receiver.received.length
    child.process.kill('SIGKILL')
    expect(await child.ended).toBe('SIGKILL')

    await other.post('/device/e/deployment/d/status', status('installed'))
    // By the clock that was ahead, both would be held for an hour. An ordinary lease of a sink is 30 s: it passes here at once.
    await session.run(`update sinks set held_until = held_until - interval '30 s'`)
    await session.run(`update leases set until = until - interval '15 s'`)
    const often = { interval: 200 }
    await expect.poll(() => receiver.received.length, often).toBeGreaterThan(told)
    await expect
      .poll(async () => (await other.query('{ device(deviceId: "e") { connectivity } }')).device, often)
      .toEqual({ connectivity: 'OFFLINE' })
  })
})
