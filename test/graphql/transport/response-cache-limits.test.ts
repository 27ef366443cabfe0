/** What the response cache does not wait for, and what it does not keep. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { stores } from '../../support/databases/stores.ts'
import { type Api, type ApiOptions, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

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

  /** The snapshot of the first request waits for `release`. `authenticated`: the number of requests that came so far. */
  async function startHeld() {
    const { promise, resolve: release } = Promise.withResolvers<void>()
    let held = 0
    let authenticated = 0
    const gated = (database: Database): Database => ({
      ...database,
      async snapshot(...given) {
        held += 1
        if (held === 1) await promise
        return database.snapshot(...given)
      },
    })
    const auth: typeof namedAuth = {
      ...namedAuth,
      identify(...given) {
        authenticated += 1
        return namedAuth.identify(...given)
      },
    }
    const api = await start({ graphql: ({ database }) => ({ database: gated(database), auth }) })
    onTestFinished(() => release())
    return { api, release, held: () => held, authenticated: () => authenticated }
  }

  it('answers a request although the client of an equal one is gone before its answer', async () => {
    const { api, held } = await startHeld()
    const leaving = new AbortController()
    const query = '{ deploymentCounts { total } }'
    const left = expect(ask(api, query, leaving.signal)).rejects.toThrow()
    await expect.poll(held).toBe(1)
    leaving.abort()
    await left
    expect(await (await ask(api, query)).json()).toEqual({ data: { deploymentCounts: { total: 0 } } })
  })

  it('answers a request although the client of an equal one is gone while that waits for another', async () => {
    const { api, release, held, authenticated } = await startHeld()
    const leaving = new AbortController()
    // It is never cached, so each request is executed.
    const query = '{ sinks { name } deploymentCounts { total } }'
    const first = ask(api, query)
    await expect.poll(held).toBe(1)
    const left = expect(ask(api, query, leaving.signal)).rejects.toThrow()
    await expect.poll(authenticated).toBe(2)
    leaving.abort()
    await left
    // The server knows of the end of that connection when it answers on another.
    await (await ask(api, '{ revision }')).text()
    release()
    const answer = { data: { sinks: [], deploymentCounts: { total: 0 } } }
    expect(await (await first).json()).toEqual(answer)
    expect(await (await ask(api, query)).json()).toEqual(answer)
    expect(held()).toBe(3)
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
