/** An operation that takes too long, or whose client leaves, on every transport. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { sharedSlices } from '../../../src/platform/limits/slices.ts'
import type { Database, Snapshot } from '../../../src/store/database.ts'
import { everyStore } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { type Answer, type Api, startApi } from '../harness.ts'

const late = { code: 'TIMED_OUT', limit: 'time', seconds: 0.3 }
const limits = { depth: 20, cost: 500_000, time: 300 }

/**
 * Every read of a snapshot takes longer than the time limit. The embedded database cannot sleep and cannot be cancelled:
 * it computes in short statements until twice the limit has passed, however fast the machine is.
 */
function slow(database: Database): Database {
  async function wait(snapshot: Snapshot): Promise<void> {
    if (database.kind === 'postgres') return void (await snapshot.run('select pg_sleep(50)'))
    const end = performance.now() + 2 * limits.time
    while (performance.now() < end) await snapshot.run('select count(*) from generate_series(1, 300000)')
  }
  return {
    ...database,
    async snapshot(signal) {
      const snapshot = await database.snapshot(signal)
      const own: Snapshot = {
        ...snapshot,
        run: async (text, parameters) => {
          await wait(snapshot)
          return snapshot.run(text, parameters)
        },
      }
      return own
    },
  }
}

describe.each(everyStore)('on $name an operation that takes too long', (store) => {
  async function start(): Promise<Api> {
    const api = await startApi({ store, graphql: (road) => ({ database: slow(road.database), limits }) })
    onTestFinished(() => api.close())
    return api
  }
  async function isWellAfterwards(api: Api): Promise<void> {
    expect(await api.ask('{ __typename }')).toEqual({ __typename: 'Query' })
    // Its connection is released.
    expect(await api.road.database.session.run('select 1 as one')).toEqual([{ one: 1 }])
    await expect.poll(() => api.openSnapshots()).toBe(0)
    expect(api.logged).toEqual([])
    if (store.name === 'PGlite') return
    const sleeping = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    await expect.poll(() => api.road.database.session.run(sleeping)).toEqual([])
  }

  it('is stopped over HTTP with one error', async () => {
    const api = await start()
    const response = await api.graphql.fetch(api.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ a: deployments { totalCount } b: rollouts { totalCount } }' }),
    })
    expect(response.status).toBe(503)
    const { data, errors } = (await response.json()) as Answer
    expect([data, errors]).toMatchObject([undefined, [{ extensions: late }]])
    expect(errors?.[0]?.message).toMatch(/took longer than 0.3 s/)
    await isWellAfterwards(api)
  })

  it.each(transports)('is stopped over $name', async ({ name, watch }) => {
    const api = await start()
    const stream = watch(api.url, '{ deployments { totalCount } }')
    onTestFinished(() => stream.close())
    if (name === 'server-sent events') await expect(stream.next()).rejects.toThrow(/503/)
    else expect(await stream.next()).toMatchObject({ errors: [{ extensions: late }] })
    await isWellAfterwards(api)
  })

  it('keeps its committed writes, and says so if it cannot return them', async () => {
    const api = await start()
    const declare = `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) {
      __typename ... on DeclareDeploymentsSuccess { deployments { deploymentId } } } }`
    const input = { deployments: [{ deploymentId: 'd-1', deviceId: 'edge-1' }] }
    const { errors } = await api.query(declare, { input })
    expect(errors).toMatchObject([{ message: expect.stringContaining('completed writes remain'), extensions: late }])
    await isWellAfterwards(api)
    expect(await api.road.database.session.run('select deployment_id from deployments')).toHaveLength(1)
  })

  it('fails one event of a stream that continues', async () => {
    const api = await start()
    const { revision: after } = await api.ask('{ revision }')
    const query = `subscription ($after: Revision) { changes(after: $after) {
      change { ... on DeploymentStateChanged { deployment { state } } } } }`
    const stream = transports[0]?.watch(api.url, query, { after })
    if (!stream) throw new Error('there is no transport')
    onTestFinished(() => stream.close())
    await api.report({ deploymentId: 'd-1' })
    const told = stream.next()
    expect(await told).toMatchObject({ errors: [{ extensions: late }] })
    await isWellAfterwards(api)
  })
})

interface Seen {
  signal: AbortSignal | null
  /** Rows that the diagnosis took, and those after its end. */
  read: number
  late: number
  isOver: boolean
}

/** A rollout whose deployments have no end: its diagnosis ends only if something stops it. */
function endless(database: Database, seen: Seen): Database {
  function* repeat<Row>(row: Row): Generator<Row> {
    while (!seen.isOver) {
      seen.read += 1
      if (seen.signal?.aborted) seen.late += 1
      yield row
    }
  }
  return {
    ...database,
    async snapshot(signal) {
      const snapshot = await database.snapshot(signal)
      seen.signal = signal ?? null
      const run: Snapshot['run'] = async <Row extends object>(text: string, parameters?: readonly unknown[]) => {
        const found = await snapshot.run<Row>(text, parameters)
        const [first] = found
        return first && 'part' in first ? Object.assign(found, { [Symbol.iterator]: () => repeat(first) }) : found
      }
      return { ...snapshot, run }
    },
  }
}

describe.each(everyStore)('on $name a diagnosis whose client leaves', (store) => {
  it.each(transports)('is stopped over $name', async ({ watch }) => {
    const found: Seen = { signal: null, read: 0, late: 0, isOver: false }
    const api = await startApi({
      store,
      graphql: (road) => ({ database: endless(road.database, found), limits: { ...limits, time: 2 ** 31 - 1 } }),
    })
    onTestFinished(() => api.close())
    onTestFinished(() => {
      found.isOver = true
    })
    await api.report({ deploymentId: 'd-1', state: 'FAILED' })
    const stream = watch(api.url, '{ rollout(key: {name: "d-1"}) { diagnosis { examined } } }')
    stream.next().catch(() => undefined)
    await expect.poll(() => found.read).toBeGreaterThan(0)
    await stream.close()
    await expect.poll(() => found.signal?.aborted).toBe(true)
    // A turn after what waits for one.
    await sharedSlices.later('diagnoses')
    await sharedSlices.later('diagnoses')
    expect(found.late).toBe(0)
    await expect.poll(() => api.openSnapshots()).toBe(0)
    expect(api.logged).toEqual([])
  })
})

describe('an audit', () => {
  it('runs one at a time', async () => {
    const api = await startApi()
    onTestFinished(() => api.close())
    const { errors } = await api.query('{ a: audit { drift { field } } b: audit { drift { field } } }')
    expect(errors).toMatchObject([{ extensions: { code: 'TOO_MANY', limit: 'audits', retryable: true } }])
    // The answer does not wait for the other audit.
    await expect.poll(() => api.query('{ audit { drift { field } } }')).toEqual({ data: { audit: { drift: [] } } })
  })
})
