/** The deployments of scopes in numbers: from stored counters, or counted for rules that select by more than the rollout. */
import { type SQL, sql } from 'drizzle-orm'
import type { Measure } from '../../domain/alerts/alert.ts'
import { convergenceCounter, counters as counterNames, stateCounter, zeroCounters } from '../../domain/counters.ts'
import type { Convergence } from '../../domain/desired.ts'
import { mentions } from '../../domain/selectors/selector.ts'
import type { DeploymentState, Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { isListed } from '../read/deployment-scope.ts'
import {
  type DeploymentCondition,
  type DeploymentFilter,
  d,
  matchesDeployment,
} from '../read/filters/deployment-filter.ts'
import { presentFields } from '../sql/conditions.ts'
import { all, fixed, isAnyOf } from '../sql/parameters.ts'
import { type CountersRecord, toCounters } from '../sql/rows.ts'
import { sumOfStates } from '../sql/state-counters.ts'
import { deploymentNames, deployments, logHead, rollouts, targets } from '../tables/schema.ts'

export interface Measured {
  /** The revision that all measures reflect. */
  readonly revision: Revision
  readonly measures: ReadonlyMap<number, Measure>
}

/** What the counters do not have. It is read only for rules that need it. */
export interface Wanted {
  readonly stalled: boolean
  readonly offline: boolean
  readonly changedAt: boolean
}

interface Extras {
  readonly scope: number
  readonly head: Revision
  readonly stalled: number
  readonly offline: number
  readonly last_changed: Millis | null
}

export const nothingMeasured: Measure = { counters: zeroCounters(), stalled: 0, offline: 0, changedAt: null, end: null }

/** Whether stored counters answer for the scopes of a rule with this selector. */
export function isCounted(filter: DeploymentFilter, perRollout: boolean): boolean {
  return presentFields(filter).every((field) => field === 'rolloutKeys' && perRollout)
}

const head = fixed(sql`(select ${logHead.revision} from ${logHead})`)
const offlineTargets =
  fixed(sql`select ${targets.key} from ${targets} where ${targets.kind} = 'DEVICE' and ${targets.retiredAt} is null
  and ${targets.connectivity} = 'OFFLINE'`)

/** Scope 0 is the fleet. Rollouts without a row are absent. */
export async function measureScopes(session: Session, keys: readonly number[], wanted: Wanted): Promise<Measured> {
  const others = keys.filter((key) => key !== 0)
  const own = sql`and ${deployments.rolloutKey} = ${rollouts.key}`
  const parts: SQL[] = []
  if (keys.includes(0))
    parts.push(
      sql`select 0::bigint as scope, ${head} as head, ${countersOf(logHead)}, ${extrasOf(wanted, sql``)} from ${logHead}`,
    )
  if (others.length > 0)
    parts.push(sql`select ${rollouts.key} as scope, ${head} as head, ${countersOf(rollouts)}, ${extrasOf(wanted, own)}
      from ${rollouts} where ${isAnyOf(rollouts.key, others, 'bigint')}`)
  if (parts.length === 0) return { revision: 0, measures: new Map() }
  const rows = await session.rows<Extras & CountersRecord>(sql.join(parts, sql` union all `))
  return {
    revision: rows[0]?.head ?? 0,
    measures: new Map(
      rows.map((row) => [row.scope, { ...nothingMeasured, counters: toCounters(row), ...toExtras(row) }]),
    ),
  }
}

/** The deployments that match the filter: of each of these rollouts, or all of them as scope 0. */
export async function measureFiltered(
  session: Session,
  filter: DeploymentFilter,
  rolloutKeys: readonly number[] | null,
): Promise<Measured> {
  const conditions = [
    matchesDeployment(filter),
    ...isListed(session, { of: 'fleet' }, filter),
    ...(rolloutKeys ? [isAnyOf(d.rolloutKey, rolloutKeys, 'bigint')] : []),
  ]
  const scope = rolloutKeys ? sql`${d.rolloutKey}` : sql`0::bigint`
  const rows = await session.rows<
    Extras & { readonly state: DeploymentState | null; readonly convergence: Convergence | null; readonly n: number }
  >(
    sql`select counted.*, ${head} as head from (values (1)) as one left join (
        select ${scope} as scope, ${d.state} as state, ${d.convergence} as convergence, count(*)::int as n,
          (count(*) filter (where ${d.stalled}))::int as stalled,
          (count(*) filter (where ${d.targetKey} in (${offlineTargets})))::int as offline, max(${lastChanged(filter)}) as last_changed
        from ${rowsOf(filter)} where ${all(conditions)} group by 1, 2, 3) as counted on true`,
  )
  const measures = new Map<number, Measure>()
  for (const row of rows) {
    const { state, convergence, n } = row
    if (state === null || convergence === null) continue
    const known = measures.get(row.scope) ?? nothingMeasured
    const counters = { ...known.counters }
    counters[stateCounter(state)] += n
    counters[convergenceCounter(convergence)] += n
    const more = toExtras(row)
    measures.set(row.scope, {
      ...known,
      counters,
      stalled: known.stalled + more.stalled,
      offline: known.offline + more.offline,
      changedAt: Math.max(known.changedAt ?? 0, more.changedAt ?? 0),
    })
  }
  return { revision: rows[0]?.head ?? 0, measures }
}

/** Deployments that a filter names are looked up in the table of names: no index of `deployments` has their names. */
function rowsOf({ deploymentIds, reporters }: DeploymentFilter): SQL {
  if (!deploymentIds && !reporters) return sql`${deployments} ${d}`
  const named = deploymentIds
    ? [isAnyOf(deploymentNames.deploymentId, deploymentIds, 'text')]
    : [sql`${deploymentNames.isRemote}`, sql`not ${deploymentNames.isRemote}`].map(
        (kind) => sql`${isAnyOf(deploymentNames.reporter, reporters ?? [], 'text')} and ${kind}`,
      )
  const keys = named.map(
    (one) => sql`(select ${deploymentNames.deploymentKey} as key from ${deploymentNames} where ${one} offset 0)`,
  )
  return sql`(select ${d}.* from (${sql.join(keys, sql` union all `)}) as named
    cross join lateral (select * from ${deployments} where ${deployments.key} = named.key offset 0) as ${d}) as ${d}`
}

/** No progress within a window is expected: it is waited for from its end. */
function lastChanged(filter: DeploymentFilter): SQL {
  if (!mentions<DeploymentCondition>(filter, ['inMaintenance'])) return sql`${d.changedAt}`
  return sql`greatest(${d.changedAt}, (select ${targets.maintenanceEndedAt} from ${targets} where ${targets.key} = ${d.targetKey}))`
}

/** Rollouts in the order of their keys that have deployments, after a key. */
export async function nextRollouts(
  session: Session,
  after: number,
  keys: readonly number[] | undefined,
  limit: number,
): Promise<number[]> {
  const conditions = [
    sql`${rollouts.key} > ${after}::bigint`,
    sql.raw(`${sumOfStates('rollouts')} > 0`),
    ...(keys ? [isAnyOf(rollouts.key, keys, 'bigint')] : []),
  ]
  const rows = await session.rows<{ key: number }>(
    sql`select ${rollouts.key} from ${rollouts} where ${all(conditions)} order by ${rollouts.key} limit ${limit}`,
  )
  return rows.map(({ key }) => key)
}

function countersOf(table: typeof rollouts | typeof logHead): SQL {
  return sql.join(
    counterNames.map((counter) => sql`${table[counter]}`),
    sql`, `,
  )
}

const isShown = fixed(sql`${deployments.forgottenAt} is null and ${deployments.isCurrent}`)

function extrasOf({ stalled, offline, changedAt }: Wanted, own: SQL): SQL {
  const count = (isWanted: boolean, condition: SQL): SQL =>
    isWanted ? sql`(select count(*)::int from ${deployments} where ${isShown} and ${condition} ${own})` : sql`0`
  const newest = sql`(select ${deployments.changedAt} from ${deployments} where ${isShown} ${own} order by ${deployments.revision} desc limit 1)`
  return sql`${count(stalled, sql`${deployments.stalled}`)} as stalled,
    ${count(offline, sql`${deployments.targetKey} in (${offlineTargets})`)} as offline,
    ${changedAt ? newest : sql`null::timestamptz`} as last_changed`
}

function toExtras({ stalled, offline, last_changed: changedAt }: Extras): Omit<Measure, 'counters' | 'end'> {
  return { stalled, offline, changedAt }
}
