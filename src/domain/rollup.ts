/** What the components together say, and whether the reporter agrees (docs/wire.md §7.2). */

import { bearsOut } from './failure-stage.ts'
import type { DeploymentState, FailureStage } from './values.ts'

/** Margo's severity, most severe first: a reporter may answer with its worst component. */
const severity: readonly DeploymentState[] = ['FAILED', 'REMOVING', 'INSTALLING', 'PENDING', 'REMOVED', 'INSTALLED']

/** Null when there are no components. */
export function deriveState(components: readonly { readonly state: DeploymentState }[]): DeploymentState | null {
  const states = new Set(components.map((component) => component.state))
  for (const state of ['FAILED', 'REMOVING', 'INSTALLING'] as const) if (states.has(state)) return state
  const [only] = states
  if (only === undefined) return null
  if (states.size === 1) return only
  // Two or three of PENDING, INSTALLED and REMOVED are left.
  if (!states.has('INSTALLED')) return 'PENDING'
  return states.has('PENDING') ? 'INSTALLING' : 'REMOVING'
}

export function mostSevereState(components: readonly { readonly state: DeploymentState }[]): DeploymentState | null {
  return severity.find((state) => components.some((component) => component.state === state)) ?? null
}

/** A disagreement is a fact to show, never an error: a device may fail before or after its components do. */
export function isConsistent(
  reported: DeploymentState,
  components: readonly { readonly state: DeploymentState }[],
  stage: FailureStage | null = null,
): boolean {
  const derived = deriveState(components)
  if (derived !== null && (stage === 'PRE_PROCESSING' || stage === 'POST_PROCESSING')) return bearsOut(stage, derived)
  return derived === null || derived === reported || mostSevereState(components) === reported
}
