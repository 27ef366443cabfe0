/** A database that answers, but has lost what the server needs: its tables are dropped and restored while the server runs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { readMigrations } from '../../src/store/migration/migrate.ts'
import { postgresStores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const counts = { query: '{ deploymentCounts { total } }' }

describe.each(postgresStores)('on $name', (store) => {
  let server: RunningApp
  const run = (text: string): Promise<unknown> =>
    server.app.database.onOwnConnection?.(60_000, async (all) => void (await all(text))) ?? Promise.resolve()
  let stored = ''
  /** Another state than the one that is stored. */
  async function report(): Promise<Response> {
    const state = stored === 'installing' ? 'installed' : 'installing'
    const body = { deploymentId: 'd-1', status: { state }, components: [] }
    const answer = await server.post('/device/edge-1/deployment/d-1/status', body)
    if (answer.ok) stored = state
    return answer
  }
  beforeAll(async () => {
    // A batch is given up early, so a refusal comes soon.
    server = await startApp({ store, timeouts: { ...defaultTimeouts, commit: 500 } })
    expect((await report()).status).toBe(201)
  })
  afterAll(() => server?.stop())

  const last = async (): Promise<string> => (await readMigrations()).at(-1)?.tag ?? ''
  it.each([
    {
      what: 'no tables',
      lose: 'alter schema public rename to away; create schema public',
      restore: 'drop schema public; alter schema away rename to public',
      reason: async () => 'the database lacks our tables',
    },
    {
      what: 'tables without rows, as at the beginning of a restore',
      lose: 'create table head_away as select * from log_head; delete from log_head',
      restore: 'insert into log_head select * from head_away; drop table head_away',
      reason: async () => 'the database has no log head',
    },
    {
      what: 'tables without keys, as while a restore fills them',
      lose: 'alter table batches drop constraint batches_pkey',
      restore: 'alter table batches add primary key (id)',
      reason: async () => 'the database lacks our tables',
    },
    {
      what: 'the tables of an older version',
      lose: `create table newest as select * from migrations order by tag desc limit 1;
        delete from migrations where tag in (select tag from newest); alter table deployments rename column attempt to away`,
      restore:
        'insert into migrations select * from newest; drop table newest; alter table deployments rename column away to attempt',
      reason: async () => `the database lacks the migrations ${await last()}`,
    },
  ])('sends devices away with the reason while there are $what', async ({ lose, restore, reason }) => {
    const expected = await reason()
    const before = server.logged.length
    await run(lose)
    try {
      // A connection that has prepared its statements notices only that its plan no longer fits, and is replaced.
      const refusal = async () => {
        const refused = await report()
        return { status: refused.status, wait: refused.headers.get('retry-after'), ...(await refused.json()) }
      }
      const told = { status: 503, wait: expect.stringMatching(/^\d+$/), retryable: true }
      await expect.poll(refusal).toMatchObject({ ...told, detail: `${expected}: report again later` })
      const ready = await fetch(`${server.url}/readyz`)
      expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', reason: expected }])
      const { errors, data } = (await (await server.post('/graphql', counts)).json()) as {
        errors?: object[]
        data: object | null
      }
      // What a query does not need may be missing.
      if (data === null)
        expect(errors).toMatchObject([{ message: `${expected}: retry later`, extensions: { code: 'UNAVAILABLE' } }])
      const reported = () =>
        server.logged.slice(before).filter(({ msg }) => String(msg).startsWith(`${expected} since `))
      await expect.poll(reported).toMatchObject([{ level: 'error' }])
    } finally {
      await run(restore)
    }
    await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(200)
    await expect.poll(async () => (await report()).status).toBe(201)
    await expect
      .poll(() => server.logged.at(-1))
      .toMatchObject({ msg: expect.stringMatching(/^database complete again after \d+ s$/) })
  })

  it('shows a statement that does not fit its complete tables as a defect', async () => {
    const before = server.logged.length
    await run('alter table deployments rename column attempt to away')
    try {
      const [failed, asked] = [
        await report(),
        await server.post('/graphql', { query: '{ deployments { nodes { attempt } } }' }),
      ]
      expect(failed.status).toBe(500)
      expect(await asked.json()).toMatchObject({ errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }] })
      const defects = server.logged.slice(before).filter(({ level }) => level === 'error')
      expect(defects).toMatchObject([{ error: { code: '42703' } }, { error: { code: '42703' } }])
    } finally {
      await run('alter table deployments rename column away to attempt')
    }
    expect((await report()).status).toBe(201)
  })
})
