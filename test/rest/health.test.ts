import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { stores } from '../support/stores.ts'

const path = '/device/edge-1/deployment/d-1/status'
const body = (state: string) => ({ deploymentId: 'd-1', status: { state }, components: [] })

describe.each(stores)('on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  it('is alive and ready', async () => {
    for (const [address, status] of [
      ['/healthz', 'alive'],
      ['/readyz', 'ready'],
    ] as const) {
      const response = await fetch(server.url + address)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ status })
    }
  })

  it('is not ready without its tables', async () => {
    const { session } = server.app.database
    const rows = await session.run<{ tag: string }>('select tag from migrations order by tag')
    await session.run('delete from migrations')
    expect(await unreadiness(server)).toBe(`the database lacks the migrations ${rows.map(({ tag }) => tag).join(', ')}`)
    await session.run('alter table migrations rename to migrations_away')
    expect(await unreadiness(server)).toBe('the database lacks our tables')
    await session.run('alter table migrations_away rename to migrations')
    for (const { tag } of rows) await session.run('insert into migrations (tag) values ($1)', [tag])
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  })

  it('shows a person where to go', async () => {
    const response = await fetch(server.url)
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await response.text()).toContain(`curl ${server.url}/graphql`)
  })
})

describe.runIf(findPostgres())('while PostgreSQL is away', () => {
  let postgres: PostgresServer
  let server: RunningApp
  beforeAll(async () => {
    postgres = await startPostgres()
    const config = { url: postgres.url, dataDir: 'memory' }
    server = await startApp({ on: { config, open: () => openDatabase(config), drop: async () => {} } })
  })
  afterAll(async () => {
    await server?.stop()
    await postgres?.dispose()
  })

  it('is alive but not ready, sends devices away for a while, and recovers by itself', async () => {
    expect((await server.post(path, body('installing'))).status).toBe(201)
    await postgres.stop('immediate')
    expect(await unreadiness(server)).toMatch(/^the database (cannot be reached|does not answer)$/)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('rollcall_feed_lag_revisions')

    const waits = new Set<number>()
    const backlog = { reports: [{ ...body('installed'), deviceId: 'edge-1' }] }
    const refusals = [
      ...Array.from({ length: 20 }, () => server.post(path, body('installed'))),
      server.post('/reports', backlog),
    ]
    for (const response of await Promise.all(refusals)) {
      expect(response.status).toBe(503)
      const problem = (await response.json()) as { retryAfterSeconds: number }
      expect(problem).toMatchObject({ type: 'about:blank', retryable: true, backoffStrategy: 'exponential' })
      expect(response.headers.get('retry-after')).toBe(String(problem.retryAfterSeconds))
      expect(problem.retryAfterSeconds).toBeGreaterThan(0)
      waits.add(problem.retryAfterSeconds)
    }
    // Spread at random, so that a fleet does not come back at once.
    expect(waits.size).toBeGreaterThan(1)

    await postgres.start()
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status, { timeout: 30_000 }).toBe(200)
    expect(await (await server.post(path, body('installed'))).json()).toMatchObject({ verdict: 'APPLIED' })
    expect(await server.query('{ deployment(deploymentId: "d-1") { state attempt } }')).toEqual({
      deployment: { state: 'INSTALLED', attempt: 1 },
    })
  })

  it.each([
    ['GET', '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/d/status'],
    ['GET', '/v1/instance/i/status'],
    ['GET', '/v1/instance/i'],
    ['GET', '/api/v1/clients/edge-1/deployments'],
    ['GET', '/git/edge-1.git/info/refs?service=git-upload-pack'],
    [
      'PUT',
      '/api/v1/capabilities/edge-1',
      { properties: { id: 'edge-1', vendor: 'v', modelNumber: 'm', serialNumber: 's' } },
    ],
  ])('tells whoever comes with %s %s to come again', async (method, address, sent: object | null = null) => {
    await postgres.stop('immediate')
    const response = await fetch(server.url + address, {
      method,
      ...(sent && { body: JSON.stringify(sent), headers: { 'content-type': 'application/json' } }),
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    expect(await response.json()).toMatchObject({ status: 503, retryable: true })
    await postgres.start()
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(200)
  })
})

async function unreadiness({ url }: RunningApp): Promise<unknown> {
  const response = await fetch(`${url}/readyz`)
  expect(response.status).toBe(503)
  const { status, reason } = (await response.json()) as Record<string, unknown>
  expect(status).toBe('not ready')
  return reason
}
