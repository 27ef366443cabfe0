/** What the response cache does not wait for, and what it does not keep. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../src/store/database.ts'
import { stores } from '../support/stores.ts'
import { type Api, type ApiOptions, startApi } from './harness.ts'

describe.each(stores)('the response cache on $name', (store) => {
  async function start(options: ApiOptions = {}): Promise<Api> {
    const api = await startApi({ store, ...options })
    onTestFinished(() => api.close())
    return api
  }

  const ask = ({ url }: Api, query: string, signal: AbortSignal | null = null): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      signal,
    })

  it('answers a request although the client of an equal one is gone before its answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let held = 0
    let isHeld = true
    const gated = (database: Database): Database => ({
      ...database,
      async snapshot(...given) {
        if (isHeld) {
          held += 1
          await promise
        }
        return database.snapshot(...given)
      },
    })
    const api = await start({ graphql: ({ database }) => ({ database: gated(database) }) })
    onTestFinished(() => resolve())
    const leaving = new AbortController()
    const query = '{ deploymentCounts { total } }'
    const left = expect(ask(api, query, leaving.signal)).rejects.toThrow()
    await expect.poll(() => held).toBe(1)
    isHeld = false
    leaving.abort()
    await left
    expect(await (await ask(api, query)).json()).toEqual({ data: { deploymentCounts: { total: 0 } } })
  })

  it('keeps no response of more than 1 MiB: a few of them would take the place of all others', async () => {
    const api = await start()
    const error = { code: '1', message: 'm'.repeat(30_000) }
    const report = (n: number) => api.report({ reporter: `edge-${n}`, deploymentId: `d-${n}`, state: 'FAILED', error })
    await Promise.all(Array.from({ length: 40 }, (_, n) => report(n)))
    for (const [first, costs] of [
      [30, [1, 1, 0]],
      [40, [1, 1, 1]],
    ] as const)
      for (const cost of costs) {
        api.statements()
        const text = await (await ask(api, `{ deployments(first: ${first}) { nodes { error { message } } } }`)).text()
        expect(text.length > 1 << 20).toBe(first === 40)
        expect(api.statements()).toBe(cost)
      }
  })
})
