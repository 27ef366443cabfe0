/** The actions of users on a rollout, and which action may follow which (docs/wire.md §2.2), for deployment intent groups and clusters. */
import type { Millis, Revision } from '../values.ts'

export const lifecycleStates = [
  'CREATED',
  'APPROVED',
  'APPLIED',
  'INSTANTIATED',
  'TERMINATED',
  'INSTANTIATE_STOPPED',
  'TERMINATE_STOPPED',
  'UPDATED',
] as const
export type LifecycleState = (typeof lifecycleStates)[number]

/** One recorded action. Actions are never deleted. */
export interface LifecycleAction {
  readonly rolloutKey: number
  readonly revision: Revision
  readonly state: LifecycleState
  /** The AppContext of the action. Null: none. */
  readonly instanceId: string | null
  /** 0 without a context, 1 for Instantiated, + 1 for each update. */
  readonly instanceRevision: number
  readonly at: Millis
  /** The time exactly as the user wrote it. Null: the server set it. */
  readonly timestamp: string | null
  /** The name of the caller that recorded it. */
  readonly actor: string
}

/** The kinds of rollout that have a lifecycle. The kind decides which actions exist. */
export type Lifecycle = 'DEPLOYMENT_INTENT_GROUP' | 'CLUSTER_INTENTS'

const followers: Record<Lifecycle, Partial<Record<LifecycleState, readonly LifecycleState[]>>> = {
  DEPLOYMENT_INTENT_GROUP: {
    CREATED: ['APPROVED'],
    APPROVED: ['INSTANTIATED'],
    INSTANTIATED: ['INSTANTIATED', 'TERMINATED', 'INSTANTIATE_STOPPED', 'UPDATED'],
    INSTANTIATE_STOPPED: ['TERMINATED', 'UPDATED'],
    TERMINATED: ['APPROVED', 'INSTANTIATED', 'TERMINATE_STOPPED'],
    TERMINATE_STOPPED: ['INSTANTIATED'],
    UPDATED: ['APPROVED', 'INSTANTIATED'],
  },
  CLUSTER_INTENTS: {
    CREATED: ['APPLIED'],
    APPLIED: ['TERMINATED', 'INSTANTIATE_STOPPED'],
    INSTANTIATE_STOPPED: ['TERMINATED'],
    TERMINATED: ['APPLIED', 'TERMINATE_STOPPED'],
    TERMINATE_STOPPED: ['APPLIED'],
  },
}

/** A repetition of one of these actions changes nothing. */
const idempotent: readonly LifecycleState[] = ['CREATED', 'APPROVED', 'APPLIED', 'TERMINATED']

/** `state` null: no action is recorded yet. */
export function allowedAfter(lifecycle: Lifecycle, state: LifecycleState | null): readonly LifecycleState[] {
  return state === null ? ['CREATED'] : (followers[lifecycle][state] ?? [])
}

export function isRepeat(state: LifecycleState | null, next: LifecycleState): boolean {
  return state === next && idempotent.includes(next)
}

/** Whether the action starts an instance, so that it must name it. */
export function startsInstance(state: LifecycleState): boolean {
  return state === 'INSTANTIATED' || state === 'APPLIED' || state === 'UPDATED'
}

/** Whether the action is on an existing instance: the current one, unless it names another. */
export function changesInstance(state: LifecycleState): boolean {
  return state === 'TERMINATED' || state === 'INSTANTIATE_STOPPED' || state === 'TERMINATE_STOPPED'
}
