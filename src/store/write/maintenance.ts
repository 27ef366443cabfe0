/** Writes maintenance windows and the periods of devices in them, and finds which devices should enter or leave one. */
import { type SQL, sql } from 'drizzle-orm'
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import { type ConnectivitySource, ownSite, type Target, type TargetName } from '../../domain/target.ts'
import { storableJson } from '../../domain/text.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { type ClusterFilter, fromClusters } from '../read/targets/clusters.ts'
import { type DeviceFilter, fromDevices } from '../read/targets/targets.ts'
import { isAnyOf } from '../sql/parameters.ts'
import { insertOf, iso } from '../sql/record-set.ts'
import { toWindow, type WindowRecord } from '../sql/rows.ts'
import { maintenancePeriods, maintenanceWindows, targets } from '../tables/schema.ts'
import type { Statement } from './contract.ts'

const windows = insertOf(maintenanceWindows)
const periods = insertOf(maintenancePeriods)

export function insertWindow(window: MaintenanceWindow): Statement {
  return { text: windows.text, parameters: windows.parameters([window]) }
}

export function endWindow({ key, endedRevision, endedAt, endedBy }: MaintenanceWindow): Statement {
  return {
    text: 'update maintenance_windows set ended_revision = $2::bigint, ended_at = $3::timestamptz, ended_by = $4 where key = $1::bigint',
    parameters: [key, endedRevision, endedAt === null ? null : iso(endedAt), endedBy],
  }
}

export interface EndedPeriod {
  readonly targetKey: number
  readonly endedRevision: Revision
  readonly endedAt: Millis
}

export function endPeriods(ended: readonly EndedPeriod[]): Statement {
  return {
    text: `update maintenance_periods p set ended_revision = x."endedRevision", ended_at = x."endedAt"
      from json_to_recordset($1::text::json) as x("targetKey" bigint, "endedRevision" bigint, "endedAt" timestamptz)
      where p.target_key = x."targetKey" and p.ended_revision is null`,
    parameters: [storableJson(ended.map((one) => ({ ...one, endedAt: iso(one.endedAt) })))],
  }
}

export function insertPeriods(begun: readonly { readonly target: Target; readonly revision: Revision }[]): Statement {
  const rows = begun.map(({ target, revision }) => ({
    targetKey: target.key,
    beganRevision: revision,
    windowKey: target.maintenanceKey,
    reason: target.maintenanceReason,
    beganAt: target.maintenanceSince,
    until: target.maintenanceUntil,
    ...{ endedRevision: null, endedAt: null, goneAt: null, goneSource: null },
  }))
  return { text: periods.text, parameters: periods.parameters(rows) }
}

/** A target that was said to be gone in a period that has ended. */
export interface GoneTarget {
  readonly target: TargetName
  readonly targetKey: number
  readonly at: Millis
  readonly source: ConnectivitySource
}

/** Of the period that the target is in. */
export function keepGone({
  targetKey,
  at,
  source,
}: Omit<GoneTarget, 'target' | 'at'> & { readonly at: Millis | null }): Statement {
  return {
    text: `update maintenance_periods set gone_at = $2::timestamptz, gone_source = $3
      where target_key = $1::bigint and ended_revision is null`,
    parameters: [targetKey, at === null ? null : iso(at), at === null ? null : source],
  }
}

export function settleGone(gone: readonly GoneTarget[]): Statement {
  return {
    text: `update maintenance_periods set gone_at = null, gone_source = null
      where gone_at is not null and ended_revision is not null and target_key in (select x::bigint from json_array_elements_text($1::text::json) x)`,
    parameters: [storableJson(gone.map(({ targetKey }) => targetKey))],
  }
}

export async function findGone(session: Session, limit: number): Promise<GoneTarget[]> {
  const rows = await session.run<Omit<GoneTarget, 'target'> & TargetName>(
    `select t.kind, t.provider, t.name, t.key as "targetKey", p.gone_at as at, p.gone_source as source
     from maintenance_periods p join targets t on t.key = p.target_key
     where p.gone_at is not null and p.ended_revision is not null and t.maintenance_key is null order by p.gone_at limit $1::int`,
    [limit],
  )
  return rows.map(({ kind, provider, name, ...gone }) => ({ target: { kind, provider, name }, ...gone }))
}

/** The windows whose present or next occurrence has begun, also if the clock was set back since. */
export async function dueWindows(session: Session, now: Millis): Promise<MaintenanceWindow[]> {
  const rows = await session.run<WindowRecord>(
    'select * from maintenance_windows where (next_at <= $1::timestamptz or begun and next_at is not null) and ended_revision is null order by key',
    [iso(now)],
  )
  return rows.map(toWindow)
}

export async function noteBegun(session: Session, { key, nextAt }: MaintenanceWindow): Promise<void> {
  await session.run(
    'update maintenance_windows set begun = true where key = $1::bigint and next_at = $2::timestamptz',
    [key, iso(nextAt ?? 0)],
  )
}

/** The occurrence is over. `next` null: it was the last. */
export async function passOccurrence(
  session: Session,
  { key, nextAt, beginsAt, endsAt }: MaintenanceWindow,
  next: Millis | null,
): Promise<void> {
  await session.run(
    `update maintenance_windows set next_at = $3::timestamptz, next_end = $4::timestamptz, begun = false
     where key = $1::bigint and next_at = $2::timestamptz`,
    [key, iso(nextAt ?? 0), next === null ? null : iso(next), next === null ? null : iso(next + endsAt - beginsAt)],
  )
}

/** Those in service that the window selects, and that are in no window that lasts. */
export async function findEntering(
  session: Session,
  window: MaintenanceWindow,
  active: readonly number[],
  limit: number,
): Promise<TargetName[]> {
  const isFree = sql`(${targets.siteKey} = ${ownSite} and (${targets.maintenanceKey} is null or not ${isAnyOf(targets.maintenanceKey, active, 'bigint')}))`
  const found: TargetName[] = []
  for (const selected of selectedBy(session, window, [isFree]))
    found.push(
      ...(await session.rows<TargetName>(sql`select ${nameOf} ${selected} limit ${limit - found.length}::int`)),
    )
  return found
}

/**
 * Those in a window that does not last any more. The windows with targets in them are found in the index, one after the other: without statistics, a
 * planner reads all targets instead.
 */
export async function findLeaving(session: Session, active: readonly number[], limit: number): Promise<TargetName[]> {
  return session.run<TargetName>(
    `with recursive occupied as (
       (select maintenance_key as key from targets where maintenance_key is not null order by maintenance_key limit 1)
       union all
       select (select maintenance_key from targets where maintenance_key > occupied.key order by maintenance_key limit 1)
       from occupied where occupied.key is not null)
     select t.kind, t.provider, t.name from occupied cross join lateral (
       select kind, provider, name from targets where maintenance_key = occupied.key and site_key = ${ownSite} order by maintenance_key limit $2::int) t
     where occupied.key not in (select x::bigint from json_array_elements_text($1::text::json) x) limit $2::int`,
    [storableJson(active), limit],
  )
}

/** Those in the window that it does not select any more. */
export async function findStrays(session: Session, window: MaintenanceWindow, limit: number): Promise<TargetName[]> {
  const isInside = sql`${targets.maintenanceKey} = ${window.key}::bigint`
  const selected = selectedBy(session, window, [isInside]).map(
    (from) => sql`and key not in (select ${targets.key} ${from})`,
  )
  return session.rows<TargetName>(
    sql`with inside as materialized (select key, kind, provider, name from targets where maintenance_key = ${window.key}::bigint)
      select kind, provider, name from inside where true ${sql.join(selected, sql` `)} limit ${limit}::int`,
  )
}

const nameOf = sql`${targets.kind}, ${targets.provider}, ${targets.name}`

/** `from … where …` of the targets that the window selects: devices, clusters, or both. */
function selectedBy(session: Session, { selector }: MaintenanceWindow, bounds: readonly SQL[]): readonly SQL[] {
  const { filter, clusters } = selector
  return [
    ...(filter
      ? [fromDevices(session, { of: 'fleet' }, { ...(filter as DeviceFilter), retired: false }, null, bounds)]
      : []),
    ...(clusters ? [fromClusters(session, clusters as ClusterFilter, null, bounds)] : []),
  ]
}
