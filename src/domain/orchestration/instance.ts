/**
 * One run of a rollout. Of a deployment intent group and of network intents, its status follows from the last action and from the sync status of
 * its resources. Of a resource bundle, it reports its status.
 */
import type { DeploymentState, Revision } from '../values.ts'
import type { SyncStatus } from './resource.ts'

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

/** What the orchestrator does with an instance. GIVE_WAY: another instance updates and replaces it. */
export const instanceGoals = ['NOTHING', 'INSTANTIATE', 'TERMINATE', 'GIVE_WAY'] as const
type InstanceGoal = (typeof instanceGoals)[number]

export interface Instance {
  readonly key: number
  readonly rolloutKey: number
  /** The orchestrator's ID. */
  readonly instanceId: string
  /** 1 for the first instantiation, + 1 for each update. */
  readonly revisionNumber: number
  readonly status: InstanceStatus
  readonly goal: InstanceGoal
  /** The state that the orchestrator reports, for a resource bundle. Null: the state follows from the resources. */
  readonly reportedState: DeploymentState | null
  /** A resource was reported FAILED since the goal was set. A failure to apply is not a failure to delete. */
  readonly hasFailed: boolean
  /** The rollout shows this instance's deployments and resources. True for the newest instance, and for each one of a resource bundle. */
  readonly isCurrent: boolean
  /** The instance that updates it. */
  readonly successorKey: number | null
  /** The context ID in the label of the cluster's resources. It comes from the last Instantiated or Applied action; updates keep it. */
  readonly statusContext: string
  readonly createdRevision: Revision
  readonly revision: Revision
}

/** The number of resources by sync status. Resources that only the cluster reported are not counted. */
export type SyncCounts = Readonly<Record<SyncStatus, number>>

/** docs/wire.md §2.2, first table. `successor`: the status of the instance that updates this one. */
export function instanceStatus(
  instance: Pick<Instance, 'goal' | 'status' | 'reportedState' | 'hasFailed'>,
  counts: SyncCounts,
  successor: InstanceStatus | null,
): InstanceStatus {
  if (instance.reportedState !== null) return reportedStatus(instance.reportedState, instance.goal)
  const total = totalOf(counts)
  // One failure is enough: the orchestrator stops working on that resource, even while it retries others.
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
      // Later changes of the successor do not affect this instance.
      return instance.status
  }
}

function reportedStatus(reportedState: DeploymentState, goal: InstanceGoal): InstanceStatus {
  if (reportedState === 'FAILED') return goal === 'TERMINATE' ? 'TERMINATE_FAILED' : 'INSTANTIATE_FAILED'
  const statuses = {
    PENDING: 'CREATED',
    INSTALLING: 'INSTANTIATING',
    INSTALLED: 'INSTANTIATED',
    REMOVING: 'TERMINATING',
    REMOVED: 'TERMINATED',
  } as const
  return statuses[reportedState]
}

/** docs/wire.md §2.2, second table: the state of a deployment or component follows from the sync status of its resources, unless the orchestrator reports it. */
export function stateOfSync(
  { goal, reportedState }: Pick<Instance, 'goal' | 'reportedState'>,
  counts: SyncCounts,
): DeploymentState {
  if (reportedState !== null) return reportedState
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
