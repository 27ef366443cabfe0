/**
 * Targets as of a revision: the present rows, unwound by their own entries of the log. Connectivity, retirement, maintenance and the revision of their
 * creation have a history. Names, labels, parents and intervals have none, so they are those of the present; the last contact is null.
 */
import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Revision } from '../../../domain/values.ts'
import { changeLog, targets } from '../../tables/schema.ts'

const t = alias(targets, 't')
const entry = alias(changeLog, 'entry')

/** A source of rows `targets`: those that existed then. */
export function targetsAt(asOf: Revision | null): SQL {
  if (asOf === null) return sql`${targets}`
  const revision = sql`${asOf}::bigint`
  const isLater = sql`${entry.firstRevision} > ${revision}`
  // Most targets have no entries of their own. One look for any of them spares the others.
  const next = (
    kinds: readonly string[],
  ): SQL => sql`select ${entry.at}, ${entry.changes} -> 0 as change ${ofTarget(kinds)}
    and own.has_any and ${isLater} order by ${entry.firstRevision} limit 1`
  const newest = (
    kinds: readonly string[],
  ): SQL => sql`select ${entry.firstRevision}, ${entry.changes} -> 0 as change ${ofTarget(kinds)}
    and own.has_any and not ${isLater} order by ${entry.firstRevision} desc limit 1`
  // A RETIRED of a retired device corrects its reason, and keeps its time.
  const since = sql`(select min(${entry.at}) ${ofTarget(['DEVICE_RETIRED'])} and not ${isLater}
    and ${entry.firstRevision} > coalesce(reinstated.first_revision, 0))`
  const was: Record<string, SQL> = {
    connectivity: sql`case when moved.change is null then ${t.connectivity} else coalesce((moved.change ->> 'from')::connectivity, 'UNKNOWN') end`,
    last_heard_at: sql`null::timestamptz`,
    retired_at: sql`case when ended.is_retired then coalesce(case when ended.is_same then ${t.retiredAt} end, ${since}, ended.at) end`,
    retired_reason: sql`case when ended.is_retired then coalesce(retired.change ->> 'reason', ${t.retiredReason}) end`,
    replaced_by_key: sql`case when ended.is_retired then
      case when retired.change is null then ${t.replacedByKey} else (retired.change ->> 'replacedByKey')::bigint end end`,
  }
  const inMaintenance = (present: SQL, then: SQL): SQL =>
    sql`case when maintained.change is null then ${present} when maintained.change ->> 'kind' = 'MAINTENANCE_ENDED' then ${then} end`
  const timeOf = (name: string): SQL => sql`to_timestamp((maintained.change ->> ${name})::float8 / 1000)`
  Object.assign(was, {
    maintenance_key: inMaintenance(sql`${t.maintenanceKey}`, sql`(maintained.change ->> 'maintenanceKey')::bigint`),
    maintenance_reason: inMaintenance(sql`${t.maintenanceReason}`, sql`maintained.change ->> 'reason'`),
    maintenance_since: inMaintenance(sql`${t.maintenanceSince}`, timeOf('since')),
    maintenance_until: inMaintenance(sql`${t.maintenanceUntil}`, timeOf('until')),
  })
  const columns = Object.values(getTableColumns(targets)).map(
    ({ name }) => sql`${was[name] ?? sql`${sql.identifier('t')}.${sql.identifier(name)}`} as ${sql.identifier(name)}`,
  )
  return sql`(select ${sql.join(columns, sql`, `)} from ${targets} ${t}
    left join lateral (select true as has_any from ${changeLog} ${entry}
      where ${entry.targetKey} = ${t.key} and ${entry.deploymentKey} is null limit 1) as own on true
    left join lateral (${next(['CONNECTIVITY_CHANGED'])}) as moved on true
    left join lateral (${next(ends)}) as later_end on true
    left join lateral (${next(maintenance)}) as maintained on true
    left join lateral (${newest(['DEVICE_RETIRED'])}) as retired on true
    left join lateral (${newest(['DEVICE_REINSTATED'])}) as reinstated on true
    cross join lateral (select later_end.at, later_end.change is null as is_same, case
        when later_end.change is null then ${t.retiredAt} is not null
        when later_end.change ->> 'kind' = 'DEVICE_REINSTATED' then true
        else coalesce(retired.first_revision > coalesce(reinstated.first_revision, 0), false) end as is_retired) as ended
    where ${t.createdRevision} <= ${revision}) as ${targets}`
}

const maintenance = ['MAINTENANCE_STARTED', 'MAINTENANCE_ENDED'] as const
const ends = ['DEVICE_RETIRED', 'DEVICE_REINSTATED'] as const

/** Entries about the target itself have one change each. */
function ofTarget(kinds: readonly string[]): SQL {
  const isKind = kinds.map((kind) => sql`${entry.changes} -> 0 ->> 'kind' = ${kind}`)
  return sql`from ${changeLog} ${entry} where ${entry.targetKey} = ${t.key} and ${entry.deploymentKey} is null
    and (${sql.join(isKind, sql` or `)})`
}
