/** Rows of what orchestrators run, and what they are in the domain (see rows.ts). */

import type { Instance, InstanceGoal, InstanceStatus } from '../../domain/instance.ts'
import type { LifecycleAction, LifecycleState } from '../../domain/lifecycle.ts'
import type { Presence, Resource, SyncStatus } from '../../domain/resource.ts'
import type { DeploymentState, Millis, Readiness, Revision } from '../../domain/values.ts'
import type { Bundle, Tally } from '../write/contract.ts'

export interface InstanceRecord {
  readonly key: number
  readonly rollout_key: number
  readonly instance_id: string
  readonly revision_number: number
  readonly status: InstanceStatus
  readonly goal: InstanceGoal
  readonly told: DeploymentState | null
  readonly has_failed: boolean
  readonly is_current: boolean
  readonly successor_key: number | null
  readonly status_context: string
  readonly created_revision: Revision
  readonly revision: Revision
}

export function toInstance(row: InstanceRecord): Instance {
  const { key, status, goal, told, revision } = row
  return {
    key,
    rolloutKey: row.rollout_key,
    instanceId: row.instance_id,
    revisionNumber: row.revision_number,
    status,
    goal,
    told,
    hasFailed: row.has_failed,
    isCurrent: row.is_current,
    successorKey: row.successor_key,
    statusContext: row.status_context,
    createdRevision: row.created_revision,
    revision,
  }
}

export interface ActionRecord {
  readonly rollout_key: number
  readonly revision: Revision
  readonly state: LifecycleState
  readonly instance_id: string | null
  readonly instance_revision: number
  readonly at: Millis
  readonly given_time: string | null
}

export function toAction(row: ActionRecord): LifecycleAction {
  const { revision, state, at } = row
  return {
    rolloutKey: row.rollout_key,
    revision,
    state,
    instanceId: row.instance_id,
    instanceRevision: row.instance_revision,
    at,
    timestamp: row.given_time,
  }
}

export interface ResourceRecord {
  readonly key: number
  readonly rollout_key: number
  readonly instance_key: number
  readonly deployment_key: number
  readonly target_key: number
  readonly component: string
  readonly api_group: string
  readonly version: string
  readonly kind: string
  readonly namespace: string | null
  readonly name: string
  readonly sync: SyncStatus | null
  readonly presence: Presence
  readonly readiness: Readiness
  readonly reason: string | null
  readonly message: string | null
  readonly showable: boolean
  readonly changed_at: Millis
  readonly revision: Revision
  readonly gone_at: Millis | null
  readonly detail_hash: string | null
  readonly applied_detail_hash: string | null
}

export function toResource(row: ResourceRecord): Resource {
  const {
    key,
    component,
    api_group: group,
    version,
    kind,
    namespace,
    name,
    sync,
    presence,
    readiness,
    reason,
    message,
  } = row
  return {
    key,
    rolloutKey: row.rollout_key,
    instanceKey: row.instance_key,
    deploymentKey: row.deployment_key,
    targetKey: row.target_key,
    component,
    group,
    version,
    kind,
    namespace,
    name,
    sync,
    presence,
    readiness,
    reason,
    message,
    showable: row.showable,
    changedAt: row.changed_at,
    revision: row.revision,
    goneAt: row.gone_at,
    detailHash: row.detail_hash,
    appliedDetailHash: row.applied_detail_hash,
  }
}

export interface TallyRecord {
  readonly owner_key: number
  readonly component: string
  readonly sync: SyncStatus | 'NONE'
  readonly presence: Presence
  readonly readiness: Readiness
  readonly showable: boolean
  readonly n: number
}

export function toTally({ owner_key: ownerKey, sync, ...tally }: TallyRecord): Tally {
  return { ...tally, ownerKey, sync: sync === 'NONE' ? null : sync }
}

export interface BundleRecord {
  readonly instance_key: number
  readonly target_key: number
  readonly component: string
  readonly uid: string | null
  readonly resource_version: string | null
  readonly received_at: Millis
}

export function toBundle(row: BundleRecord): Bundle {
  const { component, uid } = row
  return {
    instanceKey: row.instance_key,
    targetKey: row.target_key,
    component,
    uid,
    resourceVersion: row.resource_version,
    receivedAt: row.received_at,
  }
}
