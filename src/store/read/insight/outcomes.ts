/** How the steps of rollouts ended and how long they took, exactly, from the log: as a whole, or by version, component or error. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { DeploymentState, Millis, Revision } from '../../../domain/values.ts'
import type { Session, Snapshot } from '../../database.ts'
import { asParents } from '../../sql/parameters.ts'
import { changeLog, logHead, pastDeployments } from '../../tables/schema.ts'
import { seesWholeRollouts } from '../rollouts/rollout-life.ts'

const outcomeGroupings = ['ROLLOUT', 'APPLICATION_VERSION', 'COMPONENT', 'ERROR'] as const
export type OutcomeGrouping = (typeof outcomeGroupings)[number]

/** Entries of the log that one request reads: some seconds of the database. The embedded one answers nothing else meanwhile. */
export const mostEntries: Readonly<Record<Snapshot['kind'], number>> = { postgres: 500_000, pglite: 100_000 }

/** Milliseconds. */
export interface StepOutcome {
  readonly from: DeploymentState
  readonly to: DeploymentState
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly max: number
}

export interface OutcomeGroup {
  readonly value: string | null
  readonly detail: string | null
  readonly installed: number
  readonly failed: number
  /** Of those that were installed. Null: none was, or components do not count them. */
  readonly meanAttempts: number | null
  readonly maxAttempts: number | null
  readonly steps: readonly StepOutcome[]
}

interface Outcomes {
  /** The log before this time is not retained: what ended earlier is not counted. */
  readonly since: Millis
  /** Null: there are more entries than `most`, which are read. */
  readonly groups: readonly OutcomeGroup[] | null
  readonly most: number
}

interface Row {
  readonly rollout: number
  readonly value: string | null
  readonly detail: string | null
  readonly from: DeploymentState
  readonly to: DeploymentState
  readonly count: number
  readonly percentiles: readonly number[]
  readonly attempts: number | null
  readonly most_attempts: number | null
  /** Of the one row without a rollout: the entries that were read. */
  readonly read: number
}

const underWay = sql`('PENDING', 'INSTALLING', 'REMOVING')`
const ofState = sql`(select change from json_array_elements(entry.changes) as change
  where change ->> 'kind' = 'DEPLOYMENT_STATE_CHANGED' order by change ->> 'to' = entry.to_state::text desc limit 1)`

/** Of the state that the entry ended. */
function formerly(column: SQLWrapper): SQL {
  return sql`(select ${column} from ${pastDeployments} where ${pastDeployments.until} = entry.first_revision)`
}

/** `value`, `detail`, `from`, `to`, `took` and `attempt` of an entry, for `cross join lateral`. */
const partsBy: { readonly [By in OutcomeGrouping]: SQL } = {
  ROLLOUT: deploymentPart(sql`null::text`, sql`null::text`),
  APPLICATION_VERSION: deploymentPart(
    formerly(pastDeployments.applicationVersion),
    formerly(pastDeployments.application),
  ),
  ERROR: sql`${deploymentPart(
    sql`coalesce((select change -> 'error' ->> 'code' from json_array_elements(entry.changes) as change
      where change ->> 'kind' = 'COMPONENT_STATE_CHANGED' and change ->> 'to' = 'FAILED' and change -> 'error' ->> 'code' is not null limit 1),
      ${ofState} -> 'error' ->> 'code')`,
    sql`null::text`,
  )} and entry.to_state = 'FAILED'`,
  COMPONENT: sql`select change ->> 'component' as value, null::text as detail, change ->> 'from' as "from", change ->> 'to' as "to",
      extract(epoch from entry.at) * 1000 - (part ->> 'changedAt')::float8 as took, null::int as attempt
    from json_array_elements(entry.changes) as change
      join lateral json_array_elements(${formerly(pastDeployments.components)}) as part on part ->> 'name' = change ->> 'component'
    where change ->> 'kind' = 'COMPONENT_STATE_CHANGED' and change ->> 'from' in ${underWay} and change ->> 'to' <> change ->> 'from'`,
}

/** A move to another device ends no step, and begins one there. */
function deploymentPart(value: SQL, detail: SQL): SQL {
  return sql`select ${value} as value, ${detail} as detail, entry.from_state::text as "from", entry.to_state::text as "to",
      extract(epoch from entry.at - entry.since) * 1000 as took, (${ofState} ->> 'attempt')::int as attempt
    where entry.from_state in ${underWay} and entry.to_state is not null and entry.to_state <> entry.from_state and entry.since is not null
      and entry.from_target_key is null`
}

/** By rollout. Empty for a reader that labels restrict: it does not see whole rollouts. */
export async function outcomesOf(
  session: Session & Pick<Snapshot, 'kind'>,
  rolloutKeys: readonly number[],
  by: OutcomeGrouping,
  asOf: Revision | null,
  most = mostEntries[session.kind],
): Promise<Map<number, Outcomes>> {
  if (!seesWholeRollouts(session)) return new Map()
  const [head] = await session.rows<{ since: Millis }>(sql`select ${logHead.tailAt} as since from ${logHead}`)
  const isRead =
    by === 'COMPONENT'
      ? sql`true`
      : sql`(${changeLog.toState} is distinct from ${changeLog.fromState} or ${changeLog.fromTargetKey} is not null)`
  const until = asOf === null ? sql`true` : sql`${changeLog.firstRevision} <= ${asOf}::bigint`
  const rows = await session.rows<Row>(sql`
    with read as materialized (
      select parent.key as rollout, log.* from ${asParents(rolloutKeys)} cross join lateral (
        select * from ${changeLog} where ${changeLog.rolloutKey} = parent.key and ${until} and ${isRead}
          and ${changeLog.deploymentKey} is not null and ${changeLog.resourceKey} is null
        order by ${changeLog.firstRevision} limit ${most + 1}) as log limit ${most + 1}
    ), entries as (
      select read.*, lag(at) over (partition by rollout, deployment_key order by first_revision) as since from read
    )
    select rollout, value, detail, "from", "to", count(*)::int as count, avg(attempt)::float8 as attempts, max(attempt)::int as most_attempts,
      array_to_json(percentile_disc(array[0.5, 0.9, 0.95, 1]) within group (order by greatest(took, 0)::float8)) as percentiles,
      0 as read
    from (select entry.rollout, part.* from entries as entry cross join lateral (${partsBy[by]}) as part) as ended
    group by rollout, value, detail, "from", "to" 
    union all select 0, null, null, null, null, 0, null, null, null, count(*)::int from read
    order by count desc, value, detail, "from", "to"`)
  const isTooLarge = rows.some(({ read }) => read > most)
  const byRollout = Map.groupBy(rows, ({ rollout }) => rollout)
  const since = head?.since ?? 0
  return new Map(
    rolloutKeys.map((key) => [key, { since, most, groups: isTooLarge ? null : groupsIn(byRollout.get(key) ?? []) }]),
  )
}

function groupsIn(rows: readonly Row[]): OutcomeGroup[] {
  const groups = Map.groupBy(rows, ({ value, detail }) => JSON.stringify([value, detail]))
  return [...groups.values()].map((own): OutcomeGroup => {
    const endedIn = (state: DeploymentState): number =>
      own.reduce((sum, { to, count }) => sum + (to === state ? count : 0), 0)
    const installed = own.filter(({ to, attempts }) => to === 'INSTALLED' && attempts !== null)
    const n = installed.reduce((sum, { count }) => sum + count, 0)
    const attempts = installed.reduce((sum, { attempts, count }) => sum + (attempts ?? 0) * count, 0)
    return {
      value: own[0]?.value ?? null,
      detail: own[0]?.detail ?? null,
      installed: endedIn('INSTALLED'),
      failed: endedIn('FAILED'),
      meanAttempts: n === 0 ? null : attempts / n,
      maxAttempts: n === 0 ? null : Math.max(...installed.map(({ most_attempts }) => most_attempts ?? 0)),
      steps: own.map(({ from, to, count, percentiles: [p50 = 0, p90 = 0, p95 = 0, max = 0] }) => ({
        ...{ from, to, count, p50, p90, p95, max },
      })),
    }
  })
}
