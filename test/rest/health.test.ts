import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { openDatabase } from '../../src/store/open.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../support/databases/postgres-server.ts'
import { type EmptyStore, everyStore } from '../support/databases/stores.ts'
import { readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const path = '/device/edge-1/deployment/d-1/status'
const body = (state: string) => ({ deploymentId: 'd-1', status: { state }, components: [] })

/** A batch is given up early, so a refusal comes soon. */
const timeouts = { ...defaultTimeouts, commit: 1_000 }

describe.each(everyStore)('on $name', (store) => {
  let on: EmptyStore
  let server: RunningApp
  beforeAll(async () => {
    on = await store.create()
    server = await startApp({ on, timeouts, env: { GIT: 'git' } })
  })
  afterAll(async () => {
    await server.stop()
    await on.drop()
  })

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

  it('says which version it is, also in the metrics', async () => {
    const { version } = JSON.parse(readPage('package.json'))
    expect(await (await fetch(`${server.url}/version`)).json()).toEqual({ version, node: process.versions.node })
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toContain(`rollcall_build_info{version="${version}",node="${process.versions.node}"} 1\n`)
  })

  it('is ready while many reads wait', async () => {
    const { session } = server.app.database
    let [read, isAnswered] = [0, false]
    const reads = Array.from({ length: 20 }, () =>
      session.run('select pg_sleep(0.05)').then(() => {
        if (!isAnswered) read += 1
      }),
    )
    const response = await fetch(`${server.url}/readyz`)
    isAnswered = true
    expect(response.status).toBe(200)
    expect(read).toBeLessThan(reads.length)
    await Promise.all(reads)
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

  it('is not ready while its disk is full, and is ready again without a report', async () => {
    const { session } = server.app.database
    await session.run(`create function no_space() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`)
    await session.run('create trigger no_space before insert on batches for each row execute function no_space()')
    const refused = await server.post(path, body('installed'))
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ detail: expect.stringMatching(/^the disk of the database is full:/) })
    expect(await unreadiness(server)).toBe('the disk of the database is full')
    await session.run('drop trigger no_space on batches')
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    const probes = await session.run(`select 1 from batches where id like 'probe%'`)
    expect(probes).toEqual([])
    expect((await server.post(path, body('installed'))).status).toBe(201)
  })

  // Last of those that write: it ends every connection, and the pool learns of each only when it next uses it.
  it('is not ready while the database is read-only, and every refusal says why', async () => {
    // Of this database alone, and for connections that begin then; PGlite has one, the writer's.
    const set = async (value: 'on' | 'off'): Promise<void> => {
      const change = `set default_transaction_read_only = ${value}`
      if (on.config.url === null) return void (await server.app.database.session.run(change))
      const sql = postgres(on.config.url, { max: 1 })
      await sql`set default_transaction_read_only = off`
      await sql.unsafe(`alter database ${new URL(on.config.url).pathname.slice(1)} ${change}`)
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
      await sql.end()
    }
    await set('on')
    onTestFinished(() => set('off'))
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(503)
    await expect.poll(() => unreadiness(server)).toBe('the database is read-only')
    const refused = await server.post(path, body('installing'))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    expect(await refused.json()).toMatchObject({ detail: expect.stringMatching(/^the database is read-only:/) })
    const forget = 'mutation { forgetDeployments(input: { ids: [] }) { __typename ... on UserError { message } } }'
    await expect(server.query(forget)).rejects.toThrow(/the database is read-only/)
    await set('off')
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect((await server.post(path, body('installing'))).status).toBe(201)
  })

  it('answers GET / with a pointer to the API', async () => {
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
    server = await startApp({
      on: { config, open: () => openDatabase(config), drop: async () => {} },
      timeouts,
      env: { GIT: 'git' },
    })
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
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(await (await server.post(path, body('installed'))).json()).toMatchObject({ verdict: 'APPLIED' })
    expect(await server.query('{ deployment(deploymentId: "d-1") { state attempt } }')).toEqual({
      deployment: { state: 'INSTALLED', attempt: 1 },
    })
  })

  it('can be scraped with a key that was accepted before, and with no other', async () => {
    const config = { url: postgres.url, dataDir: 'memory' }
    const adminKey = 'an-admin-key-for-tests-only'
    const scraped = await startApp({
      on: { config, open: () => openDatabase(config), drop: async () => {} },
      timeouts,
      env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'open' },
    })
    onTestFinished(() => scraped.stop())
    const manage = async (query: string) =>
      (await (await scraped.post('/graphql', { query }, { authorization: `Bearer ${adminKey}` })).json()).data
    const newKey = async () => {
      const { createApiKey } = await manage(
        'mutation { createApiKey(input: { name: "k", roles: [VIEWER] }) { ... on CreateApiKeySuccess { key apiKey { id } } } }',
      )
      return { id: createApiKey.apiKey.id, text: createApiKey.key }
    }
    const get = (address: string, key: string) =>
      fetch(scraped.url + address, { headers: { authorization: `Bearer ${key}` } })
    const [used, revoked, unused] = [await newKey(), await newKey(), await newKey()]
    for (const { text } of [used, revoked])
      expect(await (await get('/metrics', text)).text()).toContain('rollcall_deployments{')
    await manage(`mutation { revokeApiKey(input: { id: "${revoked.id}" }) { __typename } }`)
    expect((await get('/metrics', revoked.text)).status).toBe(401)

    await postgres.stop('immediate')
    try {
      const scrape = await get('/metrics', used.text)
      expect(scrape.status).toBe(200)
      const text = await scrape.text()
      expect(text).toContain('rollcall_reports_refused_total')
      expect(text).not.toContain('rollcall_deployments{')
      for (const { text: key } of [revoked, unused]) expect((await get('/metrics', key)).status).toBe(503)
      expect((await get('/v1/instance/i', used.text)).status).toBe(503)
    } finally {
      await postgres.start()
    }
    await manage(`mutation { revokeApiKey(input: { id: "${used.id}" }) { __typename } }`)
    expect((await get('/metrics', used.text)).status).toBe(401)
  })

  describe('every route', () => {
    beforeAll(() => postgres.stop('immediate'))
    afterAll(() => postgres.start())

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
    ])('answers %s %s with 503 and Retry-After', async (method, address, sent: object | null = null) => {
      const response = await fetch(server.url + address, {
        method,
        ...(sent && { body: JSON.stringify(sent), headers: { 'content-type': 'application/json' } }),
      })
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
      expect(await response.json()).toMatchObject({ status: 503, retryable: true })
    })
  })
})

async function unreadiness({ url }: RunningApp): Promise<unknown> {
  const response = await fetch(`${url}/readyz`)
  expect(response.status).toBe(503)
  const { status, reason } = (await response.json()) as Record<string, unknown>
  expect(status).toBe('not ready')
  return reason
}
