/**
 * Deployments by state. The counters of the fleet and of the rollouts answer without looking at any deployment, also for the
 * past: minus what the changed ones are now, plus what they were. Every other question counts what the list would show.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type DeploymentState, deploymentStates, type Revision } from '../domain/deployment.ts'
import type { Session } from './database.ts'
import { type DeploymentFilter, d, matchesDeployment, presentFields } from './deployment-filter.ts'
import { fromPresent, fromThen, fromUnwound, isListed, ownedBy, parentsOf, type Scope } from './deployment-scope.ts'
import { listParameter } from './parameters.ts'
import { openPast, type Past, present } from './past.ts'
import { deployments, logHead, rollouts } from './schema.ts'

export interface StateCounts {
  readonly pending: number
  readonly installing: number
  readonly installed: number
  readonly failed: number
  readonly removing: number
  readonly removed: number
}

interface CountRecord {
  readonly parent: number
  readonly state: DeploymentState
  readonly n: number
}

/** Zero-filled. */
export async function countDeployments(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<Map<number, StateCounts>> {
  const past = asOf === null ? null : await openPast(session, asOf)
  // Counters count everybody's.
  const counted = session.sight ? null : scopeOfCounters(scope, filter)
  const records = counted
    ? await countEach(session, counted, fromCounters(counted, past))
    : await countEach(session, scope, sql`select ${d.state}, 1 as n ${rowsOf(session, scope, filter, past)}`)
  const totals = new Map(parentsOf(scope).map((parent) => [parent, noCounts()]))
  for (const { parent, state, n } of records) {
    if (filter.states && !filter.states.includes(state)) continue
    const counts = totals.get(scope.of === 'fleet' ? 0 : parent)
    if (counts) counts[columnOf(state)] += n
  }
  return totals
}

/** Whose counters together answer; null: they do not. */
function scopeOfCounters(scope: Scope, filter: DeploymentFilter): Scope | null {
  if (scope.of === 'target' || scope.of === 'instance') return null
  if (presentFields(filter).some((field) => field !== 'states' && field !== 'rolloutKeys')) return null
  const wanted = filter.rolloutKeys
  if (!wanted) return scope
  return { of: 'rollout', keys: scope.of === 'fleet' ? wanted : scope.keys.filter((key) => wanted.includes(key)) }
}

function countEach(session: Session, scope: Scope, counted: SQL): Promise<CountRecord[]> {
  return session.rows<CountRecord>(
    sql`select parent.key as parent, counted.state, sum(counted.n)::int as n
      from unnest(${listParameter(parentsOf(scope), 'bigint')}) as parent(key)
      cross join lateral (${counted}) as counted group by parent.key, counted.state`,
  )
}

function rowsOf(reader: Session, scope: Scope, filter: DeploymentFilter, past: Past | null): SQL {
  const conditions = [matchesDeployment(filter), ...isListed(reader, scope, filter)]
  return past ? fromThen(past, scope, conditions) : fromPresent(scope, conditions)
}

function fromCounters(scope: Scope, past: Past | null): SQL {
  const counters = sql`select counter.state, counter.n from ${scope.of === 'fleet' ? countersOf(logHead) : countersOf(rollouts)}
    where ${scope.of === 'fleet' ? sql`true` : sql`${rollouts.key} = parent.key`}`
  if (!past) return counters
  return sql`${counters}
    union all select ${present.state}, -1 from ${deployments} ${present}
      where ${present.forgottenAt} is null and ${present.isCurrent} and ${present.revision} > ${past.revision}::bigint and ${ownedBy(scope, present)}
    union all select ${d.state}, 1 ${fromUnwound(past, scope, [sql`${d.isCurrent}`])}`
}

function countersOf(table: typeof logHead | typeof rollouts): SQL {
  const values = deploymentStates.map((state) => sql`(${state}::deployment_state, ${table[columnOf(state)]})`)
  return sql`${table} cross join lateral (values ${sql.join(values, sql`, `)}) as counter(state, n)`
}

type Column = Lowercase<DeploymentState>

function columnOf(state: DeploymentState): Column {
  return state.toLowerCase() as Column
}

function noCounts(): Record<Column, number> {
  return { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }
}
