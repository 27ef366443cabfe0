/** What users do with a rollout, and what may follow what (EMCO's "Lifecycle" states; shared by deployment intent groups and clusters). */
import type { Millis, Revision } from './values.ts'

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

/** One action, as it was recorded; they are kept for ever. */
export interface LifecycleAction {
  readonly rolloutKey: number
  readonly revision: Revision
  readonly state: LifecycleState
  /** The AppContext it is about; null: none. */
  readonly instanceId: string | null
  /** 0 without a context, 1 at Instantiated, +1 an update. */
  readonly instanceRevision: number
  readonly at: Millis
  /** The time exactly as its user wrote it; null: it is ours. */
  readonly timestamp: string | null
}

/** What kind of rollout it is decides which actions there are. */
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

/** Done twice in a row, these are one. */
const idempotent: readonly LifecycleState[] = ['CREATED', 'APPROVED', 'APPLIED', 'TERMINATED']

/** `state` null: nothing has been done yet. */
export function allowedAfter(lifecycle: Lifecycle, state: LifecycleState | null): readonly LifecycleState[] {
  return state === null ? ['CREATED'] : (followers[lifecycle][state] ?? [])
}

export function isRepeat(state: LifecycleState | null, next: LifecycleState): boolean {
  return state === next && idempotent.includes(next)
}

/** Those that cannot be without saying which run they begin. */
export function needsInstance(state: LifecycleState): boolean {
  return state === 'INSTANTIATED' || state === 'APPLIED' || state === 'UPDATED'
}
