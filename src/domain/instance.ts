/**
 * One run of a rollout: EMCO's AppContext, whose status follows from the last action and from the sync status of its resources; or a
 * k8splugin's instance, whose status is told.
 */

import type { SyncStatus } from './resource.ts'
import type { DeploymentState, Revision } from './values.ts'

export const instanceStatuses = [
  'CREATED',
  'INSTANTIATING',
  'INSTANTIATED',
  'INSTANTIATE_FAILED',
  'TERMINATING',
  'TERMINATED',
  'TERMINATE_FAILED',
  'UPDATING',
  'UPDATED',
  'UPDATE_FAILED',
] as const
export type InstanceStatus = (typeof instanceStatuses)[number]

/** What is being done with an instance: NOTHING yet, or it gives way to the one that updates it. */
export const instanceGoals = ['NOTHING', 'INSTANTIATE', 'TERMINATE', 'GIVE_WAY'] as const
export type InstanceGoal = (typeof instanceGoals)[number]

export interface Instance {
  readonly key: number
  readonly rolloutKey: number
  /** EMCO's ContextId. */
  readonly instanceId: string
  /** 1 when it was instantiated, + 1 for each update before it. */
  readonly revisionNumber: number
  readonly status: InstanceStatus
  readonly goal: InstanceGoal
  /** What its orchestrator says of it in one word (k8splugin); null: it follows from its resources. */
  readonly told: DeploymentState | null
  /** A resource was reported FAILED since the goal was set. One that failed to be applied has not yet failed to be deleted. */
  readonly hasFailed: boolean
  /** Its rollout shows its deployments and resources as its own: the newest one, and of a resource bundle each. */
  readonly isCurrent: boolean
  /** The instance that updates it. */
  readonly successorKey: number | null
  /** The context whose label the cluster's resources carry: that of the last plain Instantiated or Applied, kept through updates. */
  readonly statusContext: string
  readonly createdRevision: Revision
  readonly revision: Revision
}

/** How many resources have which sync status; those that only the cluster has are not among them. */
export type SyncCounts = Readonly<Record<SyncStatus, number>>

/** docs/wire.md §2.2, first table. `successor`: the status of the instance that updates this one. */
export function instanceStatus(
  instance: Pick<Instance, 'goal' | 'status' | 'told' | 'hasFailed'>,
  counts: SyncCounts,
  successor: InstanceStatus | null,
): InstanceStatus {
  if (instance.told !== null) return statusTold(instance.told, instance.goal)
  const total = totalOf(counts)
  // One failure is enough: EMCO takes no further action with that resource, whatever is still tried beside it.
  const isFailing = counts.FAILED > 0 && instance.hasFailed
  switch (instance.goal) {
    case 'NOTHING':
      return 'CREATED'
    case 'INSTANTIATE':
      if (isFailing) return 'INSTANTIATE_FAILED'
      return total > 0 && counts.APPLIED === total ? 'INSTANTIATED' : 'INSTANTIATING'
    case 'TERMINATE':
      if (total > 0 && counts.DELETED === total) return 'TERMINATED'
      return isFailing ? 'TERMINATE_FAILED' : 'TERMINATING'
    case 'GIVE_WAY':
      if (successor === 'INSTANTIATED') return 'UPDATED'
      if (successor === 'INSTANTIATE_FAILED') return 'UPDATE_FAILED'
      if (successor === 'CREATED' || successor === 'INSTANTIATING') return 'UPDATING'
      // What becomes of its successor later is not its own story.
      return instance.status
  }
}

function statusTold(told: DeploymentState, goal: InstanceGoal): InstanceStatus {
  if (told === 'FAILED') return goal === 'TERMINATE' ? 'TERMINATE_FAILED' : 'INSTANTIATE_FAILED'
  const statuses = {
    PENDING: 'CREATED',
    INSTALLING: 'INSTANTIATING',
    INSTALLED: 'INSTANTIATED',
    REMOVING: 'TERMINATING',
    REMOVED: 'TERMINATED',
  } as const
  return statuses[told]
}

/** docs/wire.md §2.2, second table: a deployment's or a component's state, from the sync status of its resources unless it is told. */
export function stateOfSync({ goal, told }: Pick<Instance, 'goal' | 'told'>, counts: SyncCounts): DeploymentState {
  if (told !== null) return told
  const total = totalOf(counts)
  if (counts.FAILED > 0) return 'FAILED'
  if (total > 0 && counts.DELETED === total) return 'REMOVED'
  if (goal === 'TERMINATE') return 'REMOVING'
  if (total > 0 && counts.APPLIED === total) return 'INSTALLED'
  return counts.APPLIED + counts.RETRYING > 0 ? 'INSTALLING' : 'PENDING'
}

function totalOf(counts: SyncCounts): number {
  return counts.PENDING + counts.APPLIED + counts.FAILED + counts.RETRYING + counts.DELETED
}
