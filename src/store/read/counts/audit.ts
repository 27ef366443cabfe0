/** Checks promise 4: compares every counter with a recount, in steps, so that no statement grows with the fleet. */
import { sql } from 'drizzle-orm'
import { type Counters, convergenceCounter, counters, stateCounter, zeroCounters } from '../../../domain/counters.ts'
import type { Convergence } from '../../../domain/desired.ts'
import type { DeploymentState } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type CountersRecord, toCounters } from '../../sql/rows.ts'
import { deployments, logHead, resources, resourceTallies, rollouts } from '../../tables/schema.ts'
import { auditCheckpoints } from './audit-checkpoints.ts'
import { auditFacets } from './audit-facets.ts'
import type { Drift } from './drift.ts'

/** Empty: all counters are right. Takes a snapshot's session, so that nothing changes meanwhile. */
export async function audit(session: Session, step = 5_000): Promise<Drift[]> {
  const recounted = await recount(session, step)
  const [fleet] = await session.rows<CountersRecord>(sql`select ${logHead}.* from ${logHead}`)
  const drift = fleet ? compare('fleet', toCounters(fleet), sumOf([...recounted.values()])) : []
  for (let from = 0; ; ) {
    const rows = await session.rows<CountersRecord & { readonly key: number; readonly name: string }>(
      sql`select ${rollouts}.* from ${rollouts} where ${rollouts.key} > ${from}::bigint order by ${rollouts.key} limit ${step}`,
    )
    for (const row of rows) {
      drift.push(...compare(`rollout:${row.name}`, toCounters(row), recounted.get(row.key) ?? zeroCounters()))
      recounted.delete(row.key)
    }
    const last = rows.at(-1)
    if (!last || rows.length < step) break
    from = last.key
  }
  // The rest belongs to rollouts that do not exist.
  for (const [key, counts] of recounted) drift.push(...compare(`rollout:#${key}`, zeroCounters(), counts))
  return [
    ...drift,
    ...(await auditCheckpoints(session, step)),
    ...(await auditFacets(session, step)),
    ...(await auditTallies(session, step)),
  ]
}

interface TallyRecord {
  readonly owner_key: number
  readonly bucket: string
  readonly n: number
}

/** Resources of instances and deployments, by status. */
async function auditTallies(session: Session, step: number): Promise<Drift[]> {
  const recounted = await recountResources(session, step)
  const drift: Drift[] = []
  const r = resourceTallies
  for (let from = 0; ; ) {
    const rows = await session.rows<TallyRecord>(
      sql`select ${r.ownerKey}, concat_ws('/', ${r.component}, ${r.sync}, ${r.presence}, ${r.readiness}, ${r.showable}) as bucket, ${r.n}
        from ${r} where ${r.ownerKey} in (
          select distinct ${r.ownerKey} from ${r} where ${r.ownerKey} > ${from}::bigint order by ${r.ownerKey} limit ${step})
        order by ${r.ownerKey}`,
    )
    for (const { owner_key: owner, bucket, n: counted } of rows) {
      const id = `${owner}/${bucket}`
      const there = recounted.get(id)?.n ?? 0
      recounted.delete(id)
      if (there !== counted) drift.push({ scope: `resources:#${owner}`, field: bucket, counted, recounted: there })
    }
    const last = rows.at(-1)
    if (!last) break
    from = last.owner_key
  }
  for (const { owner_key: owner, bucket, n } of recounted.values())
    drift.push({ scope: `resources:#${owner}`, field: bucket, counted: 0, recounted: n })
  return drift
}

async function recountResources(session: Session, step: number): Promise<Map<string, TallyRecord>> {
  const totals = new Map<string, TallyRecord>()
  for (let from: number | null = 0; from !== null; ) {
    const rows: { last: number; owners: number[]; bucket: string; n: number }[] = await session.rows(
      sql`with step as (select ${resources}.* from ${resources} where ${resources.key} > ${from}::bigint order by ${resources.key} limit ${step})
        select max(max(key)) over () as last, json_build_array(instance_key, deployment_key) as owners,
          concat_ws('/', component, coalesce(sync::text, 'NONE'), presence, readiness, showable) as bucket,
          (count(*) filter (where gone_at is null))::int as n
        from step group by instance_key, deployment_key, component, sync, presence, readiness, showable`,
    )
    for (const { owners, bucket, n } of rows) {
      if (n === 0) continue
      for (const owner of owners) {
        const id = `${owner}/${bucket}`
        totals.set(id, { owner_key: owner, bucket, n: (totals.get(id)?.n ?? 0) + n })
      }
    }
    from = rows[0]?.last ?? null
  }
  return totals
}

/** By rollout. */
async function recount(session: Session, step: number): Promise<Map<number, Counters>> {
  const totals = new Map<number, Counters>()
  const { key, rolloutKey, state, convergence, forgottenAt, isCurrent } = deployments
  for (let from: number | null = 0; from !== null; ) {
    const rows: { last: number; rollout_key: number; state: DeploymentState; convergence: Convergence; n: number }[] =
      await session.rows(
        sql`with step as (
            select ${key}, ${rolloutKey}, ${state}, ${convergence}, ${forgottenAt}, ${isCurrent}
            from ${deployments} where ${key} > ${from}::bigint order by ${key} limit ${step})
          select max(max(key)) over () as last, rollout_key, state, convergence,
            (count(*) filter (where forgotten_at is null and is_current))::int as n
          from step group by rollout_key, state, convergence`,
      )
    for (const { rollout_key: rollout, n, ...row } of rows) {
      if (n === 0) continue
      const counts = totals.get(rollout) ?? zeroCounters()
      counts[stateCounter(row.state)] += n
      counts[convergenceCounter(row.convergence)] += n
      totals.set(rollout, counts)
    }
    from = rows[0]?.last ?? null
  }
  return totals
}

function compare(scope: string, held: Counters, recount: Counters): Drift[] {
  return counters.flatMap((field) => {
    const { [field]: counted } = held
    const { [field]: recounted } = recount
    return counted === recounted ? [] : [{ scope, field, counted, recounted }]
  })
}

function sumOf(list: readonly Counters[]): Counters {
  const sum = zeroCounters()
  for (const counts of list) for (const counter of counters) sum[counter] += counts[counter]
  return sum
}
