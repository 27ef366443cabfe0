/** Instances and actions of rollouts, at present or in the past. Actions are only added, and the log has the former status of instances. */
import { sql } from 'drizzle-orm'
import type { Instance, InstanceStatus } from '../../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../../domain/orchestration/lifecycle.ts'
import { isStorable } from '../../../domain/text.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import {
  type ActionRecord,
  type InstanceRecord,
  instanceColumns,
  toAction,
  toInstance,
} from '../../sql/rows-orchestration.ts'
import { changeLog, instances, lifecycleActions, rollouts, sinks } from '../../tables/schema.ts'
import { visibleInstance } from '../access-scope.ts'
import { instancesIn, rolloutOfInstance } from '../filters/instance-rollouts.ts'

/** `asOf`: the revision that the row reflects. Null: the present. */
export type InstanceRow = Instance & { readonly asOf: Revision | null }

/** Keys without a row (at `asOf`) are absent. */
export async function instancesByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, InstanceRow>> {
  const found = await read(session, sql`${isAnyOf(instances.key, keys, 'bigint')}`, asOf)
  return new Map(found.map((instance) => [instance.key, instance]))
}

/** By rollout, oldest first. */
export async function instancesOf(
  session: Session,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, InstanceRow[]>> {
  const ofRollouts = instancesIn((key) => isAnyOf(key, rolloutKeys, 'bigint'), asOf)
  const found = await read(session, sql`${instances.key} in (${ofRollouts})`, asOf)
  const byRollout = Map.groupBy(found, ({ rolloutKey }) => rolloutKey)
  return new Map(rolloutKeys.map((key) => [key, byRollout.get(key) ?? []]))
}

export async function instanceById(
  session: Session,
  instanceId: string,
  asOf: Revision | null,
): Promise<InstanceRow | null> {
  if (!isStorable(instanceId)) return null
  const [found] = await read(session, sql`${instances.instanceId} = ${instanceId}`, asOf)
  return found ?? null
}

/** Instances of resource bundles that are not deleted, oldest first. */
export async function bundleInstances(session: Session): Promise<InstanceRow[]> {
  const found = await read(session, isBundle, null)
  return found.toSorted((a, b) => a.key - b.key)
}

const isBundle = sql`(${instances.rolloutKey} in (
  select ${rollouts.key} from ${rollouts} where ${rollouts.kind} = 'RESOURCE_BUNDLE') and ${instances.reportedState} <> 'REMOVED')`

const isUnannounced = sql`(${isBundle} and not exists (
  select 1 from ${sinks} where ${sinks.kind} = 'INVENTORY' and ${sinks.instanceKey} = ${instances.key}))`

/** Instances of resource bundles without an inventory sink, oldest first. */
export async function unannouncedInstances(session: Session, limit: number): Promise<InstanceRow[]> {
  const first = sql`select ${instances.key} from ${instances} where ${isUnannounced} order by ${instances.key} limit ${limit}::int`
  const found = await read(session, sql`${instances.key} in (${first})`, null)
  return found.toSorted((a, b) => a.key - b.key)
}

export async function countUnannounced(session: Session): Promise<number> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from ${instances} where ${isUnannounced}`,
  )
  return row?.n ?? 0
}

/** By rollout, oldest first. */
export async function actionsOf(
  session: Session,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, LifecycleAction[]>> {
  const known = asOf === null ? sql`true` : sql`${lifecycleActions.revision} <= ${asOf}::bigint`
  const rows = await session.rows<ActionRecord>(
    sql`select ${lifecycleActions}.* from ${lifecycleActions}
      where ${isAnyOf(lifecycleActions.rolloutKey, rolloutKeys, 'bigint')} and ${known}
      order by ${lifecycleActions.rolloutKey}, ${lifecycleActions.revision}`,
  )
  const byRollout = Map.groupBy(rows.map(toAction), ({ rolloutKey }) => rolloutKey)
  return new Map(rolloutKeys.map((key) => [key, byRollout.get(key) ?? []]))
}

async function read(session: Session, which: ReturnType<typeof sql>, asOf: Revision | null): Promise<InstanceRow[]> {
  const existed = asOf === null ? sql`true` : sql`${instances.createdRevision} <= ${asOf}::bigint`
  // The first later change of the status has the former status as its origin.
  const then =
    asOf === null
      ? sql`null`
      : sql`(select body.change ->> 'fromStatus' from ${changeLog} cross join lateral json_array_elements(${changeLog.changes}) as body(change)
          where ${changeLog.instanceKey} = ${instances.key} and ${changeLog.firstRevision} > ${asOf}::bigint
            and body.change ->> 'kind' = 'INSTANCE_STATUS_CHANGED' and ${instances.revision} > ${asOf}::bigint
          order by ${changeLog.firstRevision} limit 1)`
  const rows = await session.rows<InstanceRecord & { readonly was: InstanceStatus | null; readonly was_of: number }>(
    sql`select ${sql.raw(instanceColumns('instances'))}, ${then} as was, ${rolloutOfInstance(asOf)} as was_of from ${instances} where ${all([which, existed, ...visibleInstance(session, instances)])}
      order by ${instances.createdRevision}, ${instances.key}`,
  )
  return rows.map((row) => ({ ...toInstance(row), rolloutKey: row.was_of, status: row.was ?? row.status, asOf }))
}
