/** What is said to people, and in which order things come. */
import type { introspection } from './schema.d.ts'

type EnumOf<Name extends keyof introspection['types']> = introspection['types'][Name] extends {
  enumValues: infer Values
}
  ? Values
  : never

export type DeploymentState = EnumOf<'DeploymentState'>
export type Connectivity = EnumOf<'Connectivity'>
export type ChangeKind = EnumOf<'ChangeKind'>
export type Readiness = EnumOf<'Readiness'>
export type SyncStatus = EnumOf<'SyncStatus'>
export type InstanceStatus = EnumOf<'InstanceStatus'>
export type Convergence = EnumOf<'Convergence'>
export type LifecycleState = EnumOf<'LifecycleState'>

/** From done to not begun, as bars are read: what is well first, what failed beside it, what is left to do last. */
export const deploymentStates = ['INSTALLED', 'INSTALLING', 'FAILED', 'PENDING', 'REMOVING', 'REMOVED'] as const

export const stateWords: Readonly<Record<DeploymentState, string>> = {
  PENDING: 'Pending',
  INSTALLING: 'Installing',
  INSTALLED: 'Installed',
  FAILED: 'Failed',
  REMOVING: 'Removing',
  REMOVED: 'Removed',
}

export const connectivityWords: Readonly<Record<Connectivity, string>> = {
  UNKNOWN: 'Not known',
  ONLINE: 'Online',
  OFFLINE: 'Offline',
  RETRYING: 'Retrying',
}

export const readinessOrder = ['READY', 'PENDING', 'FAILED', 'UNKNOWN'] as const

/** Whether it does its work is another question than whether it was put there. */
export const readinessWords: Readonly<Record<Readiness, string>> = {
  READY: 'Ready',
  PENDING: 'Not ready',
  FAILED: 'Failed',
  UNKNOWN: 'Not shown',
}

/** What the orchestrator did with it. */
export const syncWords: Readonly<Record<SyncStatus, string>> = {
  APPLIED: 'Applied',
  PENDING: 'To apply',
  RETRYING: 'Retrying',
  FAILED: 'Not applied',
  DELETED: 'Deleted',
}

/** What is well first, as with states. */
export const convergenceOrder = ['CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN'] as const

/** Against what it should run. */
export const convergenceWords: Readonly<Record<Convergence, string>> = {
  CONVERGED: 'Converged',
  APPLYING: 'Applying',
  FAILED: 'Failed on it',
  STALE: 'Stale',
  UNKNOWN: 'Not known',
}

/** INSTANTIATE_FAILED: Instantiate failed. */
export const sayStatus = (status: InstanceStatus | LifecycleState): string => {
  const words = status.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export type Counts = Readonly<Record<'total' | Lowercase<DeploymentState>, number>>

export const countOf = (counts: Counts, state: DeploymentState): number =>
  counts[state.toLowerCase() as Lowercase<DeploymentState>]

const numbers = new Intl.NumberFormat()
export const formatNumber = (value: number): string => numbers.format(value)

/** Never 100 % before all of it is. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–'
  const share = Math.floor((part / whole) * 1_000) / 10
  return `${share >= 10 || Number.isInteger(share) ? Math.floor(share) : share} %`
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`
