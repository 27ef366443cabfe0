import type { DeploymentState } from '../../../domain/values.ts'
import { shown } from '../../../platform/body/problems.ts'

/** In lower case. No version of the specification has the last five, but agents send them. */
const states: ReadonlyMap<string, DeploymentState> = new Map([
  ['pending', 'PENDING'],
  ['installing', 'INSTALLING'],
  ['installed', 'INSTALLED'],
  ['failed', 'FAILED'],
  ['removing', 'REMOVING'],
  ['removed', 'REMOVED'],
  ['failure', 'FAILED'],
  ['success', 'INSTALLED'],
  ['uninstalling', 'REMOVING'],
  ['updating', 'INSTALLING'],
  ['updated', 'INSTALLED'],
])

/** Tolerance: any letter case (the specification changed from `Pending` to `pending`) and the names of other drafts and agents. */
export function readState(value: unknown): DeploymentState | null {
  if (typeof value !== 'string') return null
  return states.get(value) ?? states.get(value.toLowerCase()) ?? null
}

export function stateProblem(value: unknown): string {
  return `must be one of pending, installing, installed, failed, removing, removed (in any letter case), but is ${shown(value)}`
}
