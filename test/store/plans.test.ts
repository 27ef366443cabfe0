/**
 * What a batch, a doorbell and a poll cost is what they return, however young the database's statistics are. A planner that has none
 * expects few rows in each table, and would read whole tables.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Command } from '../../src/ingest/command.ts'
import type { Desire } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/device.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { retireDevices } from '../../src/ingest/commands/retire.ts'
import { headText, readHead } from '../../src/store/connection/log-head.ts'
import { sessionOf } from '../../src/store/connection/transaction.ts'
import type { Database, Session } from '../../src/store/database.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { report } from '../support/reports.ts'
import { createRoad, type Road } from '../support/road.ts'
import { type EmptyStore, postgresStores } from '../support/stores.ts'

const deployments = 30_000

interface Measured {
  readonly text: string
  readonly buffers: number
}

/** Pages of tables and indexes that a statement touches, by the plan that the connection would use. What it writes is taken back. */
async function measure(session: Session, text: string, parameters: readonly unknown[]): Promise<Measured> {
  const values = parameters.map((value) =>
    value === null ? 'null' : typeof value === 'string' ? `E'${value.replace(/[\\']/g, '\\$&')}'` : String(value),
  )
  await session.run('savepoint measuring')
  await session.run(`prepare measured as ${text}`)
  const list = values.length > 0 ? `(${values.join()})` : ''
  const [row] = await session.run<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) execute measured${list}`,
  )
  const plan = row?.['QUERY PLAN'][0].Plan ?? {}
  await session.run('deallocate measured')
  await session.run('rollback to savepoint measuring')
  const kinds = ['Shared Hit Blocks', 'Shared Read Blocks'] as const
  return { text, buffers: kinds.reduce((sum, kind) => sum + (plan[kind] ?? 0), 0) }
}

const isQuery = (text: string): boolean =>
  /^(select|with|insert|update|delete)\b/.test(text) && !text.includes('pg_control')

/** Measures each statement of the writer before it is executed. */
function measuring(database: Database, found: Measured[]): Database {
  const look = async (session: Session, text: string, parameters: readonly unknown[] = []): Promise<void> => {
    if (isQuery(text)) found.push(await measure(session, text, parameters))
  }
  return {
    ...database,
    async append(connection, text, parameters) {
      await database.transaction((session) => look(session, text, parameters))
      return database.append(connection, text, parameters)
    },
    transaction: (work) =>
      database.transaction((session) => {
        let last: Promise<unknown> = Promise.resolve()
        return work({
          ...session,
          run(text, parameters) {
            const result = last.then(async () => {
              await look(session, text, parameters)
              return session.run<never>(text, parameters)
            })
            last = result.catch(() => undefined)
            return result
          },
        })
      }),
  }
}

async function fill(session: Session): Promise<void> {
  for (const table of ['targets', 'rollouts', 'deployments', 'change_log', 'reports'])
    await session.run(`alter table ${table} set (autovacuum_enabled = false)`)
  const { revision } = await readHead(session)
  const series = `generate_series(1, ${deployments}) n`
  await session.run(`insert into targets (key, kind, name) select n, 'DEVICE', 'edge-' || n from ${series}`)
  await session.run(
    `insert into rollouts (key, kind, identity, name, created_revision) select 100000 + n, 'DECLARED', 'r-' || n, 'r-' || n, 1 from ${series}`,
  )
  await session.run(
    `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at, changed_at, revision, marks)
     select 200000 + n, 'd-' || n, 'edge-' || n, n, 100001, 'PENDING', true, '[]', true, 1, now(), now(), ${revision} + n, '{}' from ${series}`,
  )
  await session.run(
    `insert into change_log (first_revision, last_revision, at, deployment_key, target_key, rollout_key, changes)
     select ${revision} + n, ${revision} + n, now(), 200000 + n, n, 100001,
       '[{"kind":"DEPLOYMENT_STATE_CHANGED","from":null,"to":"PENDING","error":null,"attempt":1,"adoptedManifestVersion":null}]' from ${series}`,
  )
  await session.run(`update log_head set revision = ${revision + deployments}, next_key = 1000000`)
}

describe.each(postgresStores)('a database without statistics on $name', (store) => {
  let empty: EmptyStore
  let road: Road
  const found: Measured[] = []
  beforeAll(async () => {
    empty = await store.create()
    const database = await empty.open()
    await fill(database.session)
    road = await createRoad(measuring(database, found))
  })
  afterAll(async () => {
    await road.close()
    await empty.drop()
  })

  it.each([1, 29, 1_000])('reads %i entries of the log at the cost of so many', async (rows) => {
    const snapshot = await road.database.snapshot()
    try {
      const { revision } = await readHead(snapshot)
      const measured: Measured[] = []
      const run: Session['run'] = async (text, parameters = []) => {
        measured.push(await measure(snapshot, text, parameters))
        return snapshot.run(text, parameters)
      }
      const changes = await readLog(sessionOf(run), revision - rows, 1_000)
      expect(changes).toHaveLength(rows)
      expect(measured).toHaveLength(1)
      for (const { text, buffers } of measured) expect(buffers, text).toBeLessThan(20 + 12 * rows)
    } finally {
      await snapshot.close()
    }
  })

  it.each([
    { it: 'known reports', first: 1, count: 20 },
    { it: 'known reports again, which are cached', first: 1, count: 20 },
    { it: 'first reports', first: deployments + 1, count: 20 },
    { it: 'more first reports', first: deployments + 101, count: 20 },
  ])('writes $it at the cost of so many', async ({ first, count }) => {
    found.length = 0
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        road.writer.submit(
          recordReport(report({ reporter: `edge-${first + n}`, deploymentId: `d-${first + n}`, state: 'INSTALLED' })),
        ),
      ),
    )
    expect(found.length).toBeGreaterThan(0)
    for (const { text, buffers } of found) expect(buffers, text).toBeLessThan(100 + 100 * count)
  })

  const many = 500
  const names = Array.from({ length: many }, (_, n) => `edge-${n + 1}`)
  const desire: Desire = {
    cause: { caller: 'a test', why: 'scrapped' },
    bundle: () => ({ digest: 'sha256:0', size: 0 }),
  }
  const unnamed = { name: null, labels: null, parent: null, expectedInterval: null }
  it.each<{ it: string; command: Command<unknown> }>([
    {
      it: 'registers devices',
      command: registerDevices(names.map((deviceId) => ({ ...unnamed, deviceId, tokenHash: `hash of ${deviceId}` }))),
    },
    {
      it: 'retires devices',
      command: retireDevices(
        names.map((deviceId) => ({ deviceId, replacedBy: null })),
        { reason: 'scrapped', withChildren: false, desire },
      ),
    },
  ])('$it at the cost of so many', async ({ command }) => {
    found.length = 0
    await road.writer.submit(command)
    expect(found.length).toBeGreaterThan(0)
    for (const { text, buffers } of found) expect(buffers, text).toBeLessThan(100 + 100 * many)
  })

  it('reads the head at the cost of a row', async () => {
    const snapshot = await road.database.snapshot()
    const { buffers } = await measure(snapshot, headText, [])
    await snapshot.close()
    expect(buffers).toBeLessThan(10)
  })
})
