/** The display texts of enum values, and their order. */
import type { introspection } from '../schema.d.ts'

type EnumOf<Name extends keyof introspection['types']> = introspection['types'][Name] extends {
  enumValues: infer Values
}
  ? Values
  : never

export type DeploymentState = EnumOf<'DeploymentState'>
export type Connectivity = EnumOf<'Connectivity'>
export type Readiness = EnumOf<'Readiness'>
export type SyncStatus = EnumOf<'SyncStatus'>
type InstanceStatus = EnumOf<'InstanceStatus'>
export type Convergence = EnumOf<'Convergence'>
type LifecycleState = EnumOf<'LifecycleState'>

/** The order of a bar's segments: done, then in progress and failed, then not started. */
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
  UNKNOWN: 'Not monitored',
  ONLINE: 'Online',
  OFFLINE: 'Offline',
  RETRYING: 'Retrying',
}

export const readinessOrder = ['READY', 'PENDING', 'FAILED', 'UNKNOWN'] as const

/** Whether an object works, which is independent of whether it was applied. */
export const readinessWords: Readonly<Record<Readiness, string>> = {
  READY: 'Ready',
  PENDING: 'Not ready',
  FAILED: 'Failed',
  UNKNOWN: 'Not observed',
}

/** It is observed, and does not work or does not work yet. */
export const isBroken = (readiness: Readiness): boolean => readiness === 'FAILED' || readiness === 'PENDING'

/** Whether the orchestrator has applied an object. */
export const syncWords: Readonly<Record<SyncStatus, string>> = {
  APPLIED: 'Applied',
  PENDING: 'Not applied yet',
  RETRYING: 'Retrying',
  FAILED: 'Apply failed',
  DELETED: 'Deleted',
}

/** Good values first, as with states. */
export const convergenceOrder = ['CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN'] as const

/** What a deployment runs, compared with its target version. */
export const convergenceWords: Readonly<Record<Convergence, string>> = {
  CONVERGED: 'Converged',
  APPLYING: 'Applying',
  FAILED: 'Failed on target',
  STALE: 'Older version',
  UNKNOWN: 'Unknown',
}

/** INSTANTIATE_FAILED: Instantiate failed. */
export const formatStatus = (status: InstanceStatus | LifecycleState): string => {
  const words = status.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export type Counts = Readonly<Record<'total' | Lowercase<DeploymentState>, number>>

export const countOf = (counts: Counts, state: DeploymentState): number =>
  counts[state.toLowerCase() as Lowercase<DeploymentState>]

/** The states of deployments that are removed on purpose. */
export const outsideStates: ReadonlySet<DeploymentState> = new Set(['REMOVING', 'REMOVED'])

/** The states of deployments that should be there. */
export const insideStates = deploymentStates.filter((state) => !outsideStates.has(state))

/** The deployments that should be there: the denominator of every share. Those that are removed on purpose are not part of it. */
export const expectedOf = ({ total, removing, removed }: Counts): number => total - removing - removed

/** The deployments that are removed on purpose, or being removed: `5 removed`. Null: none. */
export function formatOutside({ removing, removed }: Counts): string | null {
  const parts = [
    removing > 0 && `${formatNumber(removing)} being removed`,
    removed > 0 && `${formatNumber(removed)} removed`,
  ]
  return parts.filter(Boolean).join(', ') || null
}

const numbers = new Intl.NumberFormat()
export const formatNumber = (value: number): string => numbers.format(value)

/** Rounded, with one decimal below 10 % and above 99 %: what is left of a large fleet is still much. 100 % is all of it and 0 % nothing. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–'
  if (part === 0 || part === whole) return part === 0 ? '0 %' : '100 %'
  const share = (part / whole) * 100
  if (share > 99) return `${Math.floor((part * 1_000) / whole) / 10} %`
  return `${share >= 9.95 ? Math.round(share) : Math.max(Math.round(share * 10) / 10, 0.1)} %`
}

/** `by anna`. Empty where API_AUTH is open: there, every caller is `everyone`. */
export const byWhom = (name: string): string => (name === 'everyone' ? '' : `by ${name}`)

export const plural = (count: number, one: string): string => `${formatNumber(count)} ${count === 1 ? one : `${one}s`}`
