/** A fleet with a log of two entries for each deployment, written by SQL, and what a read of it touches. */
import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../../../src/domain/values.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { columnsOf } from '../../../src/store/sql/record-set.ts'
import { pastDeployments } from '../../../src/store/tables/schema.ts'
import type { Store } from '../../support/databases/stores.ts'

/** Deployments with keys 1..size, half of them in the rollout `size + 1`, created one after the other. Then all become INSTALLED in the same order. */
export async function fillLog({ session }: Database, base: Revision, size: number): Promise<void> {
  const spring = size + 1
  const rollout = `case when i % 2 = 0 then ${spring} else ${spring} + i end`
  const series = `from generate_series(1, ${size}) i`
  const statements = [
    ...['targets', 'deployments', 'change_log_first', 'past_deployments_first', 'rollouts'].map(
      (table) => `alter table ${table} set (autovacuum_enabled = false)`,
    ),
    `insert into targets (created_revision, key, kind, name) select 1, i, 'DEVICE', 'device-' || i ${series}`,
    `insert into rollouts (created_at, activity_revision, activity_at, changed_revision, changed_at, key, kind, identity, name, created_revision, installed, convergence_unknown)
     select now(), 1, now(), 1, now(), k, 'DECLARED', k::text, k::text, ${base}, case when k = ${spring} then ${size / 2} else 1 end, case when k = ${spring} then ${size / 2} else 1 end
     from generate_series(${spring}, ${spring + size}) k where k = ${spring} or (k - ${spring}) % 2 = 1`,
    `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at, changed_at,
       revision, marks)
     select i, 'd' || i, 'r' || i, i, ${rollout}, 'INSTALLED', true, '[]', true, 1, now(), now(), ${base} + ${size} + i, '{}' ${series}`,
    `insert into change_log (first_revision, last_revision, at, deployment_key, target_key, rollout_key, to_state, to_convergence, found_by_changed, changes)
     select ${base} + i, ${base} + i, now(), i, i, ${rollout}, 'PENDING', 'UNKNOWN', true, '[]' ${series}`,
    `insert into change_log (first_revision, last_revision, at, deployment_key, target_key, rollout_key, from_state, from_convergence, to_state,
       to_convergence, found_by_changed, changes)
     select ${base} + ${size} + i, ${base} + ${size} + i, now(), i, i, ${rollout}, 'PENDING', 'UNKNOWN', 'INSTALLED', 'UNKNOWN', false, '[]' ${series}`,
    endStates(`l.from_state is not null`, { state: `'PENDING'`, revision: `${base} + d.key` }),
    `update log_head set revision = ${base} + 2 * ${size}, installed = ${size}, convergence_unknown = ${size}`,
  ]
  for (const statement of statements) await session.run(statement)
}

/** Makes the former states that entries `l` of deployments `d` ended: as these are now, but for some columns. */
export function endStates(which: string, former: Readonly<Record<string, string>>): string {
  const names = columnsOf(pastDeployments, () => true).map(([, { name }]) => name)
  const values = names.map((name) => former[name] ?? (name === 'until' ? 'l.first_revision' : `d.${name}`))
  return `insert into past_deployments (${names.join()}) select ${values.join()}
    from change_log l join deployments d on d.key = l.deployment_key where ${which}`
}

/** A database of its own with such a log. `base`: the revision before its first entry. */
export async function openLongLog(store: Store, size: number) {
  const empty = await store.create()
  const database = await empty.open()
  const { revision: base } = await readHead(database.session)
  await fillLog(database, base, size)
  const close = async (): Promise<void> => {
    await database.close()
    await empty.drop()
  }
  return { database, base, close }
}

interface Plan {
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
}

/** The answer, and the pages of tables and indexes that it touched. */
export async function buffersOf<T>(
  { session }: Database,
  read: (session: Session) => Promise<T>,
): Promise<{ answer: T; buffers: number }> {
  let buffers = 0
  const rows: Session['rows'] = async <Row extends object>(query: SQL) => {
    const [explained] = await session.rows<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
      sql`explain (analyze, buffers, format json) ${query}`,
    )
    const plan = explained?.['QUERY PLAN'][0]?.Plan
    buffers += (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
    return session.rows<Row>(query)
  }
  return { answer: await read({ ...session, rows }), buffers }
}
