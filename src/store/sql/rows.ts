/** Rows as a Session returns them (columns as in the tables, times as Millis), and the objects of the domain. */
import { type SQL, sql } from 'drizzle-orm'
import type { Change, ChangeBody, ChangeSubject } from '../../domain/change.ts'
import { type Counters, counters } from '../../domain/counters.ts'
import type { Component, Deployment, DeploymentImage } from '../../domain/deployment.ts'
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import type { Rollout } from '../../domain/rollout.ts'
import type { Target } from '../../domain/target.ts'
import type { Revision } from '../../domain/values.ts'
import { deployments, maintenanceWindows, pastDeployments, reports, rollouts, targets } from '../tables/schema.ts'
import { columnList, fieldsBut, type ObjectOf, type RowOf, recordOfFields, rowMapper } from './row-mapping.ts'

export type TargetRecord = RowOf<typeof targets>
export const toTarget: (row: TargetRecord) => Target = rowMapper(targets, fieldsBut(targets, 'changedWrite'))

export type WindowRecord = RowOf<typeof maintenanceWindows>
export const toWindow: (row: WindowRecord) => MaintenanceWindow = rowMapper(
  maintenanceWindows,
  fieldsBut(maintenanceWindows),
)

const deploymentFields = fieldsBut(deployments, 'repeats')
export type DeploymentRecord = RowOf<typeof deployments>
export const toDeployment: (row: DeploymentRecord) => Deployment = rowMapper(deployments, deploymentFields)

const shownFields = fieldsBut(deployments, 'declaredComponents', 'claimed', 'marks', 'repeats')

/** What orders of lists compare. */
const placedFields = ['key', 'deploymentId', 'state', 'revision'] as const
export const toPlaced: (
  row: RowOf<typeof deployments, (typeof placedFields)[number]>,
) => ObjectOf<typeof deployments, (typeof placedFields)[number]> = rowMapper(deployments, placedFields)

/** The part of a deployment that lists show. `components` is null if they are large: the row was read without them. */
export type ShownDeployment = Omit<Deployment, 'components' | 'declaredComponents' | 'claimed' | 'marks'> & {
  readonly components: readonly Component[] | null
}
export type ShownRecord = Omit<RowOf<typeof deployments, (typeof shownFields)[number]>, 'components'> & {
  readonly components: readonly Component[] | null
}
export const toShown = rowMapper(deployments, shownFields) as (row: ShownRecord) => ShownDeployment

/** The columns of a shown deployment, of the row of that name. Reading components costs as much as all other columns together. */
export function shownColumns(row: string): SQL {
  const components = `${row}.components`
  return sql`${smallColumns(row)}, ${sql.raw(`case when pg_column_size(${components}) <= ${smallSize} then ${components} end as components`)}`
}

/** The same with all components. */
export const exportedColumns = columnList(deployments, shownFields)

const smallColumns = columnList(
  deployments,
  shownFields.filter((field) => field !== 'components'),
)

/** Bytes of a column as it is stored, perhaps compressed. The database knows them without reading the column. */
const smallSize = 2_000

export const imageFields = fieldsBut(pastDeployments, 'until', 'key')

/** A former state by the columns of its table, times as ISO 8601. */
export const toImageRecord: (image: DeploymentImage) => object = recordOfFields(pastDeployments, imageFields)

export const toImage: (row: RowOf<typeof pastDeployments>) => DeploymentImage = rowMapper(pastDeployments, imageFields)

const lifeFields = [
  'createdRevision',
  'createdAt',
  'startedRevision',
  'startedAt',
  'activityRevision',
  'activityAt',
  'changedRevision',
  'changedAt',
] as const
type StoredLife = ObjectOf<typeof rollouts, (typeof lifeFields)[number]>
export const toLife: (row: RowOf<typeof rollouts, (typeof lifeFields)[number]>) => StoredLife = rowMapper(
  rollouts,
  lifeFields,
)

export const rolloutColumns = columnList(rollouts, fieldsBut(rollouts, 'identity'))
const rolloutFields = fieldsBut(rollouts, 'identity', ...lifeFields, ...counters)
export type RolloutRecord = RowOf<
  typeof rollouts,
  (typeof rolloutFields)[number] | (typeof lifeFields)[number] | (typeof counters)[number]
>
export const toRollout: (row: RolloutRecord) => Rollout = rowMapper(rollouts, rolloutFields)

export type CountersRecord = RowOf<typeof rollouts, (typeof counters)[number]>
/** Of a row of rollouts, or of the log's head. */
export const toCounters: (row: CountersRecord) => Counters = rowMapper(rollouts, counters)

/** One retained report: each APPLIED and each STALE one is. */
export type ReportRow = ObjectOf<typeof reports, (typeof reportFields)[number]>
/** Not the error and the components of a STALE report: they may be a mebibyte, and nothing shows them. */
const reportFields = fieldsBut(reports, 'targetKey', 'rolloutKey', 'error', 'components')
export type ReportRecord = RowOf<typeof reports, (typeof reportFields)[number]>
export const toReport: (row: ReportRecord) => ReportRow = rowMapper(reports, reportFields)
export const reportColumns = columnList(reports, reportFields)

/** What all changes of an entry share, with the present names of their subjects. */
type SubjectRecord = ChangeSubject & Pick<Change, 'at' | 'observedAt' | 'traceparent'>

export interface ChangeRecord extends SubjectRecord {
  readonly revision: Revision
  readonly change: ChangeBody
}

export interface EntryRecord extends SubjectRecord {
  readonly firstRevision: Revision
  readonly changes: readonly ChangeBody[]
}

// A change's own fields override those of its subject: DEPLOYMENT_REVISED has a rollout of its own.

export function toChanges({ firstRevision, changes, ...subject }: EntryRecord): Change[] {
  return changes.map((change, index) => ({ ...subject, revision: firstRevision + index, ...change }))
}

export function toChange({ change, ...subject }: ChangeRecord): Change {
  return { ...subject, ...change }
}
