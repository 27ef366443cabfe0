/**
 * Groups for which counters spare the read of all deployments. When the deployments of such a group changed is not stored, so it is read only if it is
 * selected (members.ts).
 *
 *   by rollout       the counters of the rollouts, in the past from their checkpoints
 *   by convergence   the checkpoints of the fleet or of the rollouts, which count by state and convergence together
 *   by error         the deployments with an error, and those of the fleet's counters that remain
 *   by application   the fleet's counts by application, and the deployments of its checkpoints that remain; in a large fleet only
 */
import { type SQL, sql } from 'drizzle-orm'
import { counters } from '../../../domain/counters.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { asParents, isAnyOf } from '../../sql/parameters.ts'
import { sumOfStates } from '../../sql/state-counters.ts'
import { rollouts } from '../../tables/schema.ts'
import { spannedMoves } from '../counts/deployment-counts.ts'
import { areCounted, selectApplications } from '../counts/facet-counts.ts'
import {
  byConvergence,
  byState,
  type CountersScope,
  fromCheckpoint,
  fromCounters,
  isWantedPart,
  scopeOfCounters,
} from '../counts/stored-counts.ts'
import { parentsOf } from '../deployment-scope.ts'
import type { DeploymentFilter } from '../filters/deployment-filter.ts'
import { openPast, type Past } from '../past.ts'
import { alikeRows, type GroupQuery } from './group-rows.ts'
import { type GroupedBy, nameColumn } from './grouping.ts'
import { alikeParts, selectSums } from './sums.ts'

/** More rollouts have too many entries after their checkpoints (write/derived/checkpoints.ts) to add them up. */
const mostRollouts = 1_000

const noSpan = sql`null::timestamptz as since, null::timestamptz as changed_at, null::bigint as revision`
const columns = sql.join(
  counters.map((counter) => sql`${rollouts[counter]}`),
  sql`, `,
)

/** A select of groups. Null: deployments must be read. */
export async function selectCountedGroups(session: Session, query: GroupQuery): Promise<SQL | null> {
  const { scope, by, filter, asOf } = query
  // Stored counters ignore access scopes.
  const counted = scope.of !== 'fleet' || session.accessScope ? null : scopeOfCounters(scope, filter)
  if (counted === null) return null
  if (by.by === 'ROLLOUT') return groupsOfRollouts(session, counted, query)
  if (by.by === 'CONVERGENCE') return groupsByConvergence(session, counted, query)
  if (asOf !== null || counted.of !== 'fleet') return null
  if (by.by === 'APPLICATION') return groupsByApplication(session, query)
  return by.by === 'ERROR' && presentFields(filter).length === 0 ? groupsByError(session, by) : null
}

const fleet = { of: 'fleet' } as const

async function groupsByApplication(session: Session, { by, filter }: GroupQuery): Promise<SQL | null> {
  if (!(await areCounted(session, null))) return null
  return selectSums(
    { by },
    sql`
    with named as materialized (${selectApplications()})
    select part.value, null::text as detail, part.state, part.convergence, null::text as component, sum(part.n)::int as n, ${noSpan}
    from (
      select * from named union all select null, named.state, named.convergence, -named.n from named
      union all select null, part.state, part.convergence, part.n from (${fromCheckpoint(fleet, null, null)}) as part
    ) as part where ${isWantedPart(filter)} group by 1, part.state, part.convergence having sum(part.n) <> 0`,
  )
}

async function groupsByError(session: Session, by: GroupedBy): Promise<SQL> {
  const failing: GroupQuery = { scope: fleet, by, filter: { hasError: true }, asOf: null }
  const found = alikeParts(await alikeRows(session, failing))
  const none = sql`null::text as value, null::text as detail`
  const all = [
    sql`select ${none}, had.value as state, null::text as component, null::convergence as convergence, had.n, ${noSpan} from (${fromCounters(byState, fleet)}) as had`,
    sql`select ${none}, null, null, had.value, had.n, ${noSpan} from (${fromCounters(byConvergence, fleet)}) as had`,
  ]
  // Each row that was found is taken from those without an error.
  return sql`select * from (${selectSums(
    { by },
    sql`${sql.join(all, sql` union all `)} union all select place.* from (${found}) as part cross join lateral (values
      (part.value, part.detail, part.state, part.component, part.convergence, part.n, part.since, part.changed_at, part.revision),
      (null, null, part.state, null, part.convergence, -part.n, null, null, null)) as place`,
  )}) as grouped where size > 0`
}

async function groupsOfRollouts(
  session: Session,
  counted: CountersScope,
  { by, filter, asOf }: GroupQuery,
): Promise<SQL | null> {
  const isWanted = counted.of === 'rollout' ? isAnyOf(rollouts.key, counted.keys, 'bigint') : sql`true`
  if (asOf === null) {
    if (filter.states || filter.convergence) return null
    return sql`select 0::bigint as key, part.*, ${nameColumn} as name, null::json as components, ${noSpan}
      from (select ${rollouts.key}::text as value, null::text as detail, ${sql.raw(sumOfStates('rollouts'))} as size, ${columns} from ${rollouts} where ${isWanted}) as part
      where part.size > 0`
  }
  const past = await openPast(session, asOf)
  const wanted = sql`select ${rollouts.key} from ${rollouts} where ${isWanted}`
  if (!(await areFew(session, wanted))) return null
  const tallies = { parents: sql`(${wanted}) as parent`, of: { of: 'rollout', keys: [] }, past } as const
  return sumTallies(by, sql`part.key::text`, counted, filter, tallies)
}

async function groupsByConvergence(
  session: Session,
  counted: CountersScope,
  { by, filter, asOf }: GroupQuery,
): Promise<SQL | null> {
  const past = asOf === null ? null : await openPast(session, asOf)
  if (counted.of === 'rollout' && counted.keys.length > mostRollouts) return null
  const tallies = { parents: asParents(parentsOf(counted)), of: counted, past }
  return sumTallies(by, sql`part.convergence::text`, counted, filter, tallies)
}

interface Tallies {
  /** Rows `parent` whose tallies are read. */
  readonly parents: SQL
  readonly of: CountersScope
  /** Null: the present. */
  readonly past: Past | null
}

/** `value`: of a row `part` with the key of its parent, its state and its convergence. */
function sumTallies(
  by: GroupedBy,
  value: SQL,
  counted: CountersScope,
  filter: DeploymentFilter,
  { parents, of, past }: Tallies,
): SQL {
  const spanned = past ? spannedMoves(counted, filter, past) : []
  const moves = spanned.map(
    ({ rolloutKey, state, convergence, n }) =>
      sql`union all select ${rolloutKey}::bigint, ${state}::deployment_state, ${convergence}::convergence, ${n}::int`,
  )
  return selectSums(
    { by },
    sql`
    select ${value} as value, null::text as detail, part.state, part.convergence, null::text as component, sum(part.n)::int as n, ${noSpan}
    from (
      select parent.key, part.state, part.convergence, part.n from ${parents}
        cross join lateral (${fromCheckpoint(of, null, past?.revision ?? null)}) as part
      ${sql.join(moves, sql` `)}
    ) as part where ${isWantedPart(filter)} group by 1, part.state, part.convergence having sum(part.n) <> 0`,
  )
}

async function areFew(session: Session, wanted: SQL): Promise<boolean> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from (${wanted} limit ${mostRollouts + 1}) as found`,
  )
  return row !== undefined && row.n <= mostRollouts
}
