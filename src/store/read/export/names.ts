/**
 * The names of targets, rollouts, deployments and instances by key. Exports read them without an access scope: the caller has checked that the reader sees the place of
 * each row. A place that its deployment has left is not visible at present, but the row is about the past.
 */
import { sql } from 'drizzle-orm'
import type { TargetKind } from '../../../domain/target.ts'
import type { Session } from '../../database.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import { deployments, instances, rollouts, targets } from '../../tables/schema.ts'
import { visiblePlace, visibleTarget } from '../access-scope.ts'

export interface TargetName {
  readonly key: number
  readonly kind: TargetKind
  readonly provider: string
  readonly name: string
}

export interface RolloutName {
  readonly key: number
  readonly kind: string
  readonly name: string
  readonly project: string | null
  readonly compositeApp: string | null
  readonly compositeAppVersion: string | null
  readonly provider: string | null
}

/** Without the labels, of which a device may have two hundred kilobytes. */
export async function targetNames(session: Session, keys: readonly number[]): Promise<Map<number, TargetName>> {
  const rows = await session.rows<TargetName>(
    sql`select ${targets.key}, ${targets.kind}, ${targets.provider}, ${targets.name} from ${targets}
      where ${all([isAnyOf(targets.key, unique(keys), 'bigint'), ...visibleTarget(session, targets)])}`,
  )
  return byKey(rows)
}

export async function rolloutNames(session: Session, keys: readonly number[]): Promise<Map<number, RolloutName>> {
  const rows = await session.rows<RolloutName>(
    sql`select ${rollouts.key}, ${rollouts.kind}, ${rollouts.name}, ${rollouts.project}, ${rollouts.compositeApp} as "compositeApp",
        ${rollouts.compositeAppVersion} as "compositeAppVersion", ${rollouts.provider}
      from ${rollouts} where ${isAnyOf(rollouts.key, unique(keys), 'bigint')}`,
  )
  return byKey(rows)
}

/** What runs, and who reports it: a deployment without its texts. */
export interface DeploymentName {
  readonly key: number
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly reporter: string
}

export async function deploymentNames(session: Session, keys: readonly number[]): Promise<Map<number, DeploymentName>> {
  const rows = await session.rows<DeploymentName>(
    sql`select ${deployments.key}, ${deployments.application}, ${deployments.applicationVersion} as "applicationVersion", ${deployments.reporter}
      from ${deployments} where ${all([isAnyOf(deployments.key, unique(keys), 'bigint'), ...visiblePlace(session, deployments)])}`,
  )
  return byKey(rows)
}

export async function instanceIds(session: Session, keys: readonly number[]): Promise<Map<number, string>> {
  const rows = await session.rows<{ readonly key: number; readonly id: string }>(
    sql`select ${instances.key}, ${instances.instanceId} as id from ${instances}
      where ${isAnyOf(instances.key, unique(keys), 'bigint')}`,
  )
  return new Map(rows.map(({ key, id }) => [key, id]))
}

function byKey<Row extends { readonly key: number }>(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [row.key, row]))
}

const unique = (keys: readonly number[]): number[] => [...new Set(keys)]
