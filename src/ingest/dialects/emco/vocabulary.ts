/** EMCO's words for the states, in both directions. Words of other releases are accepted too. */
import type { InstanceStatus } from '../../../domain/orchestration/instance.ts'
import type { LifecycleState } from '../../../domain/orchestration/lifecycle.ts'
import type { SyncStatus } from '../../../domain/orchestration/resource.ts'
import type { Connectivity } from '../../../domain/target.ts'

/** INSTANTIATE_STOPPED → InstantiateStopped. */
export function toWord(
  value: LifecycleState | InstanceStatus | SyncStatus | 'UNKNOWN' | 'NOT_PRESENT' | 'PRESENT',
): string {
  return value
    .split('_')
    .map((part) => part.charAt(0) + part.slice(1).toLowerCase())
    .join('')
}

const actions: Readonly<Record<string, LifecycleState>> = {
  created: 'CREATED',
  approved: 'APPROVED',
  applied: 'APPLIED',
  instantiated: 'INSTANTIATED',
  terminated: 'TERMINATED',
  instantiatestopped: 'INSTANTIATE_STOPPED',
  terminatestopped: 'TERMINATE_STOPPED',
  updated: 'UPDATED',
}

/** rsync's early draft has Instantiated for Applied and Terminated for Deleted. */
const syncs: Readonly<Record<string, SyncStatus>> = {
  pending: 'PENDING',
  applied: 'APPLIED',
  instantiated: 'APPLIED',
  failed: 'FAILED',
  retrying: 'RETRYING',
  deleted: 'DELETED',
  terminated: 'DELETED',
}

const connectivities: Readonly<Record<string, Connectivity>> = {
  available: 'ONLINE',
  retrying: 'RETRYING',
  unknown: 'UNKNOWN',
}

export const actionWords = Object.values(actions).map(toWord)
export const syncWords = ['Pending', 'Applied', 'Failed', 'Retrying', 'Deleted']
export const connectivityWords = ['Available', 'Retrying', 'Unknown']

/** Null: unknown word. */
export const toAction = (word: unknown): LifecycleState | null => lookUp(actions, word)
export const toSync = (word: unknown): SyncStatus | null => lookUp(syncs, word)
export const toConnectivity = (word: unknown): Connectivity | null => lookUp(connectivities, word)

export function connectivityWord(connectivity: Connectivity): string {
  if (connectivity === 'ONLINE') return 'Available'
  return connectivity === 'RETRYING' ? 'Retrying' : 'Unknown'
}

function lookUp<T>(words: Readonly<Record<string, T>>, word: unknown): T | null {
  const key = typeof word === 'string' ? word.toLowerCase().replaceAll('_', '') : ''
  return Object.hasOwn(words, key) ? (words[key] ?? null) : null
}
