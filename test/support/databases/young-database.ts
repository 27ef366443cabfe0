/**
 * A database with a fleet and without statistics, as after a migration or a restore: the planner expects few rows in each table. The plans of
 * statements are measured in buffers, because times depend on the machine.
 */
import { openConnection } from '../../../src/store/connection/connection.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { createTarget } from '../../../src/store/connection/target/target.ts'
import { sessionOf } from '../../../src/store/connection/transaction.ts'
import type { Database, Session } from '../../../src/store/database.ts'

export const deployments = 30_000

export interface Measured {
  readonly text: string
  /** Pages of tables and indexes that the statement touches. */
  readonly buffers: number
  /** Rows that it returns, inserts, updates or deletes. */
  readonly rows: number
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

/** Measures the plan that the connection would use: the one it keeps, if it has prepared the statement before. What the statement writes is taken back. */
export async function measure(session: Session, text: string, parameters: readonly unknown[]): Promise<Measured> {
  const values = parameters.map((value) =>
    value === null ? 'null' : typeof value === 'string' ? `E'${value.replace(/[\\']/g, '\\$&')}'` : String(value),
  )
  await session.run('savepoint measuring')
  const [kept] = await session.run<{ name: string }>('select name from pg_prepared_statements where statement = $1', [
    text,
  ])
  if (!kept) await session.run(`prepare measured as ${text}`)
  const list = values.length > 0 ? `(${values.join()})` : ''
  const [row] = await session.run<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, buffers, format json) execute "${kept?.name ?? 'measured'}"${list}`,
  )
  if (!kept) await session.run('deallocate measured')
  await session.run('rollback to savepoint measuring')
  const plan = row?.['QUERY PLAN'][0].Plan
  if (!plan) throw new Error('the statement has no plan')
  return { text, buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], rows: rowsOf(plan) }
}

/** A node that modifies a table without RETURNING shows no rows; those that it gets are the ones that it writes. */
function rowsOf(plan: PlanNode): number {
  const written = (node: PlanNode): number => {
    const below = node.Plans ?? []
    const own = node['Node Type'] === 'ModifyTable' ? (below[0]?.['Actual Rows'] ?? 0) : 0
    return below.reduce((sum, one) => sum + written(one), own)
  }
  return plan['Actual Rows'] + written(plan)
}

const isMeasurable = (text: string): boolean =>
  /^\s*(select|with|insert|update|delete)\b/.test(text) && !text.includes('pg_control')

/** Passes each statement of the writer to `found` before it is executed. */
export function measuring(database: Database, found: Measured[]): Database {
  const look = async (session: Session, text: string, parameters: readonly unknown[] = []): Promise<void> => {
    if (isMeasurable(text)) found.push(await measure(session, text, parameters))
  }
  return {
    ...database,
    async append(connection, text, parameters) {
      await database.transaction((session) => look(session, text, parameters))
      return database.append(connection, text, parameters)
    },
    transaction: (work) =>
      database.transaction((session) =>
        work({ ...session, ...measuredIn(session.run, (...all) => look(session, ...all)) }),
      ),
  }
}

/**
 * The same for all statements, also of readers. A reader's connection plans a statement for its values, and for any values once it has been used often,
 * so both are measured. They are measured on a connection of their own, because a reader sends several at a time.
 */
export function measuringAll(database: Database, url: string, found: Measured[]): Database {
  const aside = openConnection({ target: createTarget(url), settings: { jit: 'off' }, timeout: 60_000 })
  let last: Promise<unknown> = Promise.resolve()
  const seen = new Map<string, number>()

  async function look(text: string, parameters: readonly unknown[] = []): Promise<void> {
    const times = seen.get(text) ?? 0
    seen.set(text, times + 1)
    // The same statement costs about the same.
    if (!isMeasurable(text) || times >= 3) return
    await aside.run('begin')
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await aside.run(`set local plan_cache_mode = ${mode}`)
      found.push(await measure(sessionOf(aside.run), text, parameters))
    }
    await aside.run('rollback')
  }
  const inTurn = (text: string, parameters?: readonly unknown[]): Promise<void> => {
    const mine = last.then(() => look(text, parameters))
    last = mine.catch(() => undefined)
    return mine
  }
  const measured = (run: Session['run']): Session =>
    sessionOf(async (text, parameters) => {
      // The database stays without statistics.
      if (text.startsWith('analyze ')) return []
      await inTurn(text, parameters)
      return run(text, parameters)
    })
  return {
    ...measuring(database, found),
    session: measured(database.session.run),
    async snapshot(signal, freshness) {
      const snapshot = await database.snapshot(signal, freshness)
      return { ...snapshot, ...measured(snapshot.run) }
    },
    async close() {
      await last
      await aside.close()
      await database.close()
    },
  }
}

/** Statements of a transaction follow each other. */
function measuredIn(run: Session['run'], look: (text: string, parameters?: readonly unknown[]) => Promise<void>) {
  let last: Promise<unknown> = Promise.resolve()
  return sessionOf((text, parameters) => {
    const result = last.then(async () => {
      await look(text, parameters)
      return run<never>(text, parameters)
    })
    last = result.catch(() => undefined)
    return result
  })
}

/** Autovacuum collects no statistics. */
export async function withoutStatistics(session: Session): Promise<void> {
  const tables = await session.run<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  for (const { name } of tables) await session.run(`alter table ${name} set (autovacuum_enabled = false)`)
}

/** Every table of which a fleet has many rows. */
export async function fill(session: Session): Promise<void> {
  const { revision } = await readHead(session)
  const series = `generate_series(1, ${deployments}) n`
  const statements = [
    `insert into targets (created_revision, key, kind, name, last_heard_at, connectivity) select 1, n, 'DEVICE', 'edge-' || n, now(), 'ONLINE' from ${series}`,
    `insert into rollouts (created_at, activity_revision, activity_at, changed_revision, changed_at, key, kind, identity, name, created_revision) select now(), 1, now(), 1, now(), 100000 + n, 'DECLARED', 'r-' || n, 'r-' || n, 1 from ${series}`,
    `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at, changed_at, revision, marks)
     select 200000 + n, 'd-' || n, 'edge-' || n, n, 100001 + n % 2, 'PENDING', true, '[]', true, 1, now(), now(), ${revision} + n, '{}' from ${series}`,
    `insert into change_log (found_by_changed, first_revision, last_revision, at, deployment_key, target_key, rollout_key, changes)
     select true, ${revision} + n, ${revision} + n, now(), 200000 + n, n, 100001 + n % 2,
       '[{"kind":"DEPLOYMENT_STATE_CHANGED","from":null,"to":"PENDING","error":null,"attempt":1,"adoptedManifestVersion":null}]' from ${series}`,
    `insert into reports (deployment_key, key, verdict, received_at, state, dialect) select 200000 + n, 300000 + n, 'APPLIED', now(), 'PENDING', 'pre-draft' from ${series}`,
    `insert into manifests (target_key, version, at, who, why) select n, 2, now(), 'test', 'test' from ${series}`,
    `insert into manifest_entries (target_key, deployment_id, since, deployment_key, device_id, digest, size)
     select n, 'd-' || n, 2, 200000 + n, 'edge-' || n, 'sha256:' || n, 1 from ${series}`,
    `insert into device_tokens (hash, target_key, issued_at) select 'hash-' || n, n, now() from ${series}`,
    `insert into device_profiles (target_key, onboarded_at) select n, now() from ${series}`,
    `insert into used_signatures (id, until) select 'signature-' || n, now() + interval '1 hour' from ${series}`,
    `insert into audit_log (at, kind, who, credential, address, action, outcome) select now(), 'MUTATION', 'w', 'key', '', 'a', 'done' from ${series}`,
    `insert into steps_in_progress (deployment_key, component, rollout_key, state, since, counts_from, has_peers)
     select 200000 + n, '', 100001 + n % 2, 'PENDING', now(), now(), false from ${series}`,
    `insert into instances (key, rollout_key, instance_id, revision_number, status, goal, has_failed, status_context, created_revision, revision)
     select 400000 + n, 100000 + n, 'i-' || n, 1, 'INSTANTIATED', 'INSTANTIATE', false, 'i-' || n, 1, ${revision} + n from ${series}`,
    `insert into resources (key, rollout_key, instance_key, deployment_key, target_key, component, api_group, version, kind, name, presence, readiness, showable, changed_at, revision)
     select 500000 + n, 100000 + n, 400000 + n, 200000 + n, n, 'web', 'apps', 'v1', 'Deployment', 'r-' || n, 'PRESENT', 'READY', true, now(), ${revision} + n from ${series}`,
    `insert into deliveries (sink_key, event_id, body, created_at) select 1000000, 'event-' || n, '', now() from ${series}`,
    // The first round of this duty reads the whole log: test/ingest/duties/standstill-cost.deep.test.ts measures it.
    `insert into duties (name, cursor) values ('standstill', ${revision + deployments}) on conflict (name) do update set cursor = excluded.cursor`,
    // As another server: a writer that has written before begins anew.
    `update log_head set revision = ${revision + deployments}, next_key = greatest(next_key, 1000000), writes = writes + 1`,
  ]
  for (const statement of statements) await session.run(statement)
  // Autovacuum does this as rows arrive, without statistics of the table.
  await session.run(
    `select brin_summarize_new_values(inhrelid) from pg_inherits where inhparent = 'reports_received'::regclass`,
  )
}
