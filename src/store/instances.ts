/** Instances and actions of rollouts, as they are or as they were: actions only ever grow, and the log says which status an instance had. */
import { sql } from 'drizzle-orm'
import type { Revision } from '../domain/deployment.ts'
import type { Instance, InstanceStatus } from '../domain/instance.ts'
import type { LifecycleAction } from '../domain/lifecycle.ts'
import type { Session } from './database.ts'
import { all, isAnyOf, isStorable } from './parameters.ts'
import { type ActionRecord, type InstanceRecord, toAction, toInstance } from './rows-orchestration.ts'
import { changeLog, instances, lifecycleActions, rollouts } from './schema.ts'
import { seesInstance } from './sight.ts'

/** `asOf` null: as it is now; else as it was at that revision. */
export type InstanceRow = Instance & { readonly asOf: Revision | null }

/** A key that names nothing (or nothing yet at `asOf`) is absent. */
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
  const found = await read(session, isAnyOf(instances.rolloutKey, rolloutKeys, 'bigint'), asOf)
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

/** k8splugin's, those that were deleted not; oldest first. */
export async function bundleInstances(session: Session): Promise<InstanceRow[]> {
  const bundles = sql`select ${rollouts.key} from ${rollouts} where ${rollouts.kind} = 'RESOURCE_BUNDLE'`
  const found = await read(
    session,
    sql`${instances.rolloutKey} in (${bundles}) and ${instances.told} <> 'REMOVED'`,
    null,
  )
  return found.toSorted((a, b) => a.key - b.key)
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
  // The status it left with the first change of it that came later is the one it had.
  const then =
    asOf === null
      ? sql`null`
      : sql`(select body.change ->> 'fromStatus' from ${changeLog} cross join lateral json_array_elements(${changeLog.changes}) as body(change)
          where ${changeLog.instanceKey} = ${instances.key} and ${changeLog.firstRevision} > ${asOf}::bigint
            and body.change ->> 'kind' = 'INSTANCE_STATUS_CHANGED' and ${instances.revision} > ${asOf}::bigint
          order by ${changeLog.firstRevision} limit 1)`
  const rows = await session.rows<InstanceRecord & { readonly was: InstanceStatus | null }>(
    sql`select ${instances}.*, ${then} as was from ${instances} where ${all([which, existed, ...seesInstance(session, instances)])}
      order by ${instances.rolloutKey}, ${instances.createdRevision}, ${instances.key}`,
  )
  return rows.map((row) => ({ ...toInstance(row), status: row.was ?? row.status, asOf }))
}
