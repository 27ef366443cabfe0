/** Rows as a Session answers them (columns as in schema.ts, times as Millis), and what they are in the domain. */
import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Change, ChangeBody } from '../../domain/change.ts'
import { type Counters, counters, zeroCounters } from '../../domain/counters.ts'
import type { Component, Deployment, DeploymentImage } from '../../domain/deployment.ts'
import type { Convergence, Digest } from '../../domain/desired.ts'
import type { InstanceStatus } from '../../domain/instance.ts'
import type { LifecycleState } from '../../domain/lifecycle.ts'
import type { OrderMarks } from '../../domain/order.ts'
import type { ComponentReport, OrderKey, Verdict } from '../../domain/report.ts'
import type { Rollout, RolloutKind } from '../../domain/rollout.ts'
import type { Connectivity, Label, Target, TargetKind } from '../../domain/target.ts'
import type {
  DeploymentState,
  Digits,
  FailureStage,
  Millis,
  Readiness,
  Revision,
  StatusError,
} from '../../domain/values.ts'
import { deployments, rollouts } from '../tables/schema.ts'
import { iso } from './record-set.ts'

/** What change_log.before holds. There times are ISO 8601, in a row of deployments they are Millis. */
export interface ImageRecord<Time> {
  readonly target_key: number
  readonly rollout_key: number
  readonly instance_key: number | null
  /** Absent in entries of the log that are older than instances. */
  readonly is_current?: boolean
  readonly application: string | null
  readonly application_version: string | null
  readonly state: DeploymentState
  readonly derived_state: DeploymentState | null
  readonly consistent: boolean
  readonly error: StatusError | null
  /** Absent in entries of the log that are older than it. */
  readonly failure_stage?: FailureStage | null
  readonly readiness: Readiness
  readonly components: readonly Component[]
  readonly attempt: number
  readonly adopted_manifest_version: Digits | null
  readonly target_manifest_version: Digits | null
  readonly document_digest: Digest | null
  readonly convergence: Convergence
  readonly stalled: boolean
  readonly reported_at: Time | null
  readonly changed_at: Time
  readonly revision: Revision
  readonly forgotten_at: Time | null
}

/** What is shown of a deployment. */
export type ShownDeployment = Omit<Deployment, 'components' | 'declaredComponents' | 'claimed' | 'marks'> & {
  /** Null: they are large, and were not read with the row. */
  readonly components: readonly Component[] | null
}

export interface ShownRecord extends Omit<ImageRecord<Millis>, 'components'> {
  readonly components: readonly Component[] | null
  readonly key: number
  readonly deployment_id: string
  readonly reporter: string
  readonly received_at: Millis
}

export interface DeploymentRecord extends ShownRecord {
  readonly components: readonly Component[]
  readonly declared_components: readonly string[]
  readonly claimed: boolean
  readonly marks: OrderMarks
}

/** The columns of what is shown, of a row of that name: to read one costs about as much as to show it. */
export function shownColumns(row: string): SQL {
  const components = `${row}.components`
  return sql`${smallColumns(row)}, ${sql.raw(`case when pg_column_size(${components}) <= ${smallSize} then ${components} end as components`)}`
}

const smallColumns = columnsBut(deployments, ['components', 'declared_components', 'claimed', 'marks', 'repeats'])

/** Bytes of a column as it is stored, perhaps compressed: to know them, the database need not read it. */
const smallSize = 2_000

export const rolloutColumns = columnsBut(rollouts, ['identity', 'created_revision'])

function columnsBut(table: PgTable, unread: readonly string[]): (row: string) => SQL {
  const names = Object.values(getTableColumns(table)).map(({ name }) => name)
  const read = names.filter((name) => !unread.includes(name))
  return (row) => sql.raw(read.map((name) => `${row}.${name}`).join(', '))
}

export function toShown(row: ShownRecord): ShownDeployment {
  return {
    key: row.key,
    deploymentId: row.deployment_id,
    reporter: row.reporter,
    ...imageOf(row, row.components, row.reported_at, row.changed_at, row.forgotten_at),
    receivedAt: row.received_at,
  }
}

export function toDeployment(row: DeploymentRecord): Deployment {
  return {
    ...toShown(row),
    components: row.components,
    declaredComponents: row.declared_components,
    claimed: row.claimed,
    marks: row.marks,
  }
}

export function toImage(before: ImageRecord<string>): DeploymentImage {
  const { components, reported_at, changed_at, forgotten_at } = before
  return imageOf(before, components, toMillis(reported_at), Date.parse(changed_at), toMillis(forgotten_at))
}

export function toImageRecord(image: DeploymentImage): ImageRecord<string> {
  return {
    target_key: image.targetKey,
    rollout_key: image.rolloutKey,
    instance_key: image.instanceKey,
    is_current: image.isCurrent,
    application: image.application,
    application_version: image.applicationVersion,
    state: image.state,
    derived_state: image.derivedState,
    consistent: image.consistent,
    error: image.error,
    failure_stage: image.failureStage,
    readiness: image.readiness,
    components: image.components,
    attempt: image.attempt,
    adopted_manifest_version: image.adoptedManifestVersion,
    target_manifest_version: image.targetManifestVersion,
    document_digest: image.documentDigest,
    convergence: image.convergence,
    stalled: image.stalled,
    reported_at: toIso(image.reportedAt),
    changed_at: iso(image.changedAt),
    revision: image.revision,
    forgotten_at: toIso(image.forgottenAt),
  }
}

function imageOf<Components>(
  row: Omit<ImageRecord<unknown>, 'components'>,
  components: Components,
  reportedAt: Millis | null,
  changedAt: Millis,
  forgottenAt: Millis | null,
): Omit<DeploymentImage, 'components'> & { readonly components: Components } {
  return {
    targetKey: row.target_key,
    rolloutKey: row.rollout_key,
    instanceKey: row.instance_key,
    isCurrent: row.is_current ?? true,
    application: row.application,
    applicationVersion: row.application_version,
    state: row.state,
    derivedState: row.derived_state,
    consistent: row.consistent,
    error: row.error,
    failureStage: row.failure_stage ?? null,
    readiness: row.readiness,
    components,
    attempt: row.attempt,
    adoptedManifestVersion: row.adopted_manifest_version,
    targetManifestVersion: row.target_manifest_version,
    documentDigest: row.document_digest,
    convergence: row.convergence,
    stalled: row.stalled,
    reportedAt,
    changedAt,
    revision: row.revision,
    forgottenAt,
  }
}

export interface TargetRecord {
  readonly key: number
  readonly kind: TargetKind
  readonly provider: string
  readonly name: string
  readonly display_name: string | null
  readonly labels: readonly Label[]
  readonly registered: boolean
  readonly expected_interval: number | null
  readonly parent_key: number | null
  readonly connectivity: Connectivity
  readonly last_heard_at: Millis | null
  readonly revoked_at: Millis | null
  readonly retired_at: Millis | null
  readonly retired_reason: string | null
  readonly replaced_by_key: number | null
}

export function toTarget(row: TargetRecord): Target {
  const { key, kind, provider, name, labels, registered, connectivity } = row
  return {
    key,
    kind,
    provider,
    name,
    displayName: row.display_name,
    labels,
    registered,
    expectedInterval: row.expected_interval,
    parentKey: row.parent_key,
    connectivity,
    lastHeardAt: row.last_heard_at,
    revokedAt: row.revoked_at,
    retiredAt: row.retired_at,
    retiredReason: row.retired_reason,
    replacedByKey: row.replaced_by_key,
  }
}

export interface RolloutRecord {
  readonly key: number
  readonly kind: RolloutKind
  readonly name: string
  readonly project: string | null
  readonly composite_app: string | null
  readonly composite_app_version: string | null
  readonly provider: string | null
  readonly composite_profile: string | null
  readonly state: LifecycleState | null
  readonly status: InstanceStatus | null
  readonly current_instance_key: number | null
}

export function toRollout(row: RolloutRecord): Rollout {
  const { key, kind, name, project, provider, state, status } = row
  return {
    key,
    kind,
    name,
    project,
    compositeApp: row.composite_app,
    compositeAppVersion: row.composite_app_version,
    provider,
    compositeProfile: row.composite_profile,
    state,
    status,
    currentInstanceKey: row.current_instance_key,
  }
}

const counterColumns = counters.map((counter) => [counter, rollouts[counter].name] as const)

/** Of a row of rollouts, or of the log's head. */
export function toCounters(row: object): Counters {
  const columns = row as Readonly<Record<string, unknown>>
  const found = zeroCounters()
  for (const [counter, column] of counterColumns) found[counter] = Number(columns[column])
  return found
}

/** What all changes of an entry share, with the present names of whom they concern. */
interface SubjectRecord {
  readonly at: Millis
  readonly observed_at: Millis | null
  readonly deployment_key: number | null
  readonly deployment_id: string | null
  readonly resource_key: number | null
  readonly target_key: number | null
  readonly target_kind: TargetKind | null
  readonly target_name: string | null
  readonly from_target_key: number | null
  readonly from_target_name: string | null
  readonly labels: readonly Label[] | null
  readonly rollout_key: number | null
  readonly from_rollout_key: number | null
  readonly instance_key: number | null
  readonly instance_id: string | null
}

export interface ChangeRecord extends SubjectRecord {
  readonly revision: Revision
  readonly change: ChangeBody
}

export interface EntryRecord extends SubjectRecord {
  readonly first_revision: Revision
  readonly changes: readonly ChangeBody[]
}

export function toChanges({ first_revision, changes, ...subject }: EntryRecord): Change[] {
  return changes.map((change, index) => toChange({ ...subject, change, revision: first_revision + index }))
}

export function toChange(row: ChangeRecord): Change {
  // The change's own fields win: a DEPLOYMENT_REVISED carries the rollout itself.
  return {
    revision: row.revision,
    at: row.at,
    observedAt: row.observed_at,
    deploymentKey: row.deployment_key,
    deploymentId: row.deployment_id,
    resourceKey: row.resource_key,
    targetKey: row.target_key,
    targetKind: row.target_kind,
    targetName: row.target_name,
    fromTargetKey: row.from_target_key,
    fromTargetName: row.from_target_name,
    labels: row.labels ?? [],
    rolloutKey: row.rollout_key,
    fromRolloutKey: row.from_rollout_key,
    instanceKey: row.instance_key,
    instanceId: row.instance_id,
    ...row.change,
  }
}

export interface ReportRecord {
  readonly deployment_key: number
  readonly key: number
  readonly verdict: Verdict
  readonly stale_by: OrderKey | null
  readonly reported_at: Millis | null
  readonly received_at: Millis
  readonly seq: Digits | null
  readonly boot: string | null
  readonly adopted_manifest_version: Digits | null
  readonly state: DeploymentState
  readonly error: StatusError | null
  readonly components: readonly ComponentReport[] | null
  readonly revision: Revision | null
  readonly dialect: string
}

export function toReport(row: ReportRecord): ReportRow {
  const { key, verdict, seq, boot, state, error, components, revision, dialect } = row
  return {
    deploymentKey: row.deployment_key,
    key,
    verdict,
    staleBy: row.stale_by,
    reportedAt: row.reported_at,
    receivedAt: row.received_at,
    seq,
    boot,
    adoptedManifestVersion: row.adopted_manifest_version,
    state,
    error,
    components,
    revision,
    dialect,
  }
}

function toMillis(iso: string | null): Millis | null {
  return iso === null ? null : Date.parse(iso)
}

function toIso(time: Millis | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}

/** One kept report: every one that was APPLIED or STALE is. */
export interface ReportRow {
  readonly deploymentKey: number
  readonly key: number
  readonly verdict: Verdict
  readonly staleBy: OrderKey | null
  readonly reportedAt: Millis | null
  readonly receivedAt: Millis
  readonly seq: Digits | null
  readonly boot: string | null
  readonly adoptedManifestVersion: Digits | null
  readonly state: DeploymentState
  readonly error: StatusError | null
  /** A STALE one's. */
  readonly components: readonly ComponentReport[] | null
  /** The last revision that an APPLIED one made. */
  readonly revision: Revision | null
  readonly dialect: string
}
