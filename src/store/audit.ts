/** Promise 4, checked: every counter against a recount. In steps, so that no statement grows with the fleet. */
import { sql } from 'drizzle-orm'
import { type DeploymentState, deploymentStates } from '../domain/deployment.ts'
import type { Session } from './database.ts'
import { deployments, logHead, rollouts } from './schema.ts'

export interface Drift {
  /** `fleet` or `rollout:<name>`. */
  readonly scope: string
  readonly field: string
  readonly counted: number
  readonly recounted: number
}

type Counts = Record<Lowercase<DeploymentState>, number>
type CountersRecord = Counts & { readonly key: number; readonly name: string }

/** Empty when all is well. Of a snapshot, so that nothing moves meanwhile. */
export async function audit(session: Session, step = 5_000): Promise<Drift[]> {
  const recounted = await recount(session, step)
  const [fleet] = await session.rows<Counts>(sql`select ${logHead}.* from ${logHead}`)
  const drift = fleet ? compare('fleet', fleet, sumOf([...recounted.values()])) : []
  for (let from = 0; ; ) {
    const rows = await session.rows<CountersRecord>(
      sql`select ${rollouts}.* from ${rollouts} where ${rollouts.key} > ${from}::bigint order by ${rollouts.key} limit ${step}`,
    )
    for (const row of rows) {
      drift.push(...compare(`rollout:${row.name}`, row, recounted.get(row.key) ?? noCounts()))
      recounted.delete(row.key)
    }
    const last = rows.at(-1)
    if (!last || rows.length < step) break
    from = last.key
  }
  // What is left belongs to rollouts that do not exist.
  for (const [key, counts] of recounted) drift.push(...compare(`rollout:#${key}`, noCounts(), counts))
  return drift
}

/** By rollout. */
async function recount(session: Session, step: number): Promise<Map<number, Counts>> {
  const totals = new Map<number, Counts>()
  for (let from: number | null = 0; from !== null; ) {
    const rows: { last: number; rollout_key: number; state: DeploymentState; n: number }[] = await session.rows(
      sql`with step as (
          select ${deployments.key}, ${deployments.rolloutKey}, ${deployments.state}, ${deployments.forgottenAt}, ${deployments.isCurrent}
          from ${deployments} where ${deployments.key} > ${from}::bigint order by ${deployments.key} limit ${step})
        select max(max(key)) over () as last, rollout_key, state, (count(*) filter (where forgotten_at is null and is_current))::int as n
        from step group by rollout_key, state`,
    )
    for (const { rollout_key: key, state, n } of rows) {
      if (n === 0) continue
      const counts = totals.get(key) ?? noCounts()
      counts[columnOf(state)] += n
      totals.set(key, counts)
    }
    from = rows[0]?.last ?? null
  }
  return totals
}

function compare(scope: string, counters: Counts, recount: Counts): Drift[] {
  return deploymentStates.map(columnOf).flatMap((field) => {
    const { [field]: counted } = counters
    const { [field]: recounted } = recount
    return counted === recounted ? [] : [{ scope, field, counted, recounted }]
  })
}

function sumOf(list: readonly Counts[]): Counts {
  const sum = noCounts()
  for (const counts of list) for (const state of deploymentStates) sum[columnOf(state)] += counts[columnOf(state)]
  return sum
}

function columnOf(state: DeploymentState): Lowercase<DeploymentState> {
  return state.toLowerCase() as Lowercase<DeploymentState>
}

function noCounts(): Counts {
  return { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }
}
