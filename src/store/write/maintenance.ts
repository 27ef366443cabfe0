/** Writes maintenance windows and the periods of devices in them, and finds which devices should enter or leave one. */
import { sql } from 'drizzle-orm'
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import type { Target } from '../../domain/target.ts'
import { storableJson } from '../../domain/text.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { type DeviceFilter, fromDevices } from '../read/targets/targets.ts'
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

export function endPeriods(
  ended: readonly { readonly targetKey: number; readonly endedRevision: Revision; readonly endedAt: Millis }[],
): Statement {
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
    endedRevision: null,
    endedAt: null,
  }))
  return { text: periods.text, parameters: periods.parameters(rows) }
}

/** The windows whose present or next occurrence has begun. */
export async function dueWindows(session: Session, now: Millis): Promise<MaintenanceWindow[]> {
  const rows = await session.run<WindowRecord>(
    'select * from maintenance_windows where next_at <= $1::timestamptz and ended_revision is null order by key',
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

/** Devices in service that the window selects, and that are in none. */
export async function findEntering(session: Session, window: MaintenanceWindow, limit: number): Promise<string[]> {
  const rows = await session.rows<{ name: string }>(
    sql`select ${targets.name} ${fromDevices(session, { of: 'fleet' }, filterOf(window), null, [sql`${targets.maintenanceKey} is null`])}
      limit ${limit}::int`,
  )
  return rows.map(({ name }) => name)
}

/**
 * Devices in a window that does not last any more. The windows with devices in them are found in the index, one after the other: without statistics, a
 * planner reads all targets instead.
 */
export async function findLeaving(session: Session, active: readonly number[], limit: number): Promise<string[]> {
  const rows = await session.run<{ name: string }>(
    `with recursive occupied as (
       (select maintenance_key as key from targets where maintenance_key is not null order by maintenance_key limit 1)
       union all
       select (select maintenance_key from targets where maintenance_key > occupied.key order by maintenance_key limit 1)
       from occupied where occupied.key is not null)
     select t.name from occupied cross join lateral (
       select name from targets where maintenance_key = occupied.key order by maintenance_key limit $2::int) t
     where occupied.key not in (select x::bigint from json_array_elements_text($1::text::json) x) limit $2::int`,
    [storableJson(active), limit],
  )
  return rows.map(({ name }) => name)
}

/** Devices in the window that it does not select any more. */
export async function findStrays(session: Session, window: MaintenanceWindow, limit: number): Promise<string[]> {
  const rows = await session.rows<{ name: string }>(
    sql`with inside as materialized (select key, name from targets where maintenance_key = ${window.key}::bigint)
      select name from inside where key not in (
        select ${targets.key} ${fromDevices(session, { of: 'fleet' }, filterOf(window), null, [sql`${targets.maintenanceKey} = ${window.key}::bigint`])})
      limit ${limit}::int`,
  )
  return rows.map(({ name }) => name)
}

function filterOf({ selector }: MaintenanceWindow): DeviceFilter {
  return { ...(selector.filter as DeviceFilter), retired: false }
}
