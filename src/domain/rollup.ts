/** The state that the components imply together, and whether the reported state agrees with it (docs/wire.md §7.2). */
import { isPossibleAfter } from './failure-stage.ts'
import type { DeploymentState, FailureStage } from './values.ts'

/** Margo's order of severity, most severe first. A reporter may report the state of its worst component. */
const severity: readonly DeploymentState[] = ['FAILED', 'REMOVING', 'INSTALLING', 'PENDING', 'REMOVED', 'INSTALLED']

/** Null when there are no components. */
export function deriveState(components: readonly { readonly state: DeploymentState }[]): DeploymentState | null {
  const states = new Set(components.map((component) => component.state))
  for (const state of ['FAILED', 'REMOVING', 'INSTALLING'] as const) if (states.has(state)) return state
  const [only] = states
  if (only === undefined) return null
  if (states.size === 1) return only
  // What remains is a mix of PENDING, INSTALLED and REMOVED.
  if (!states.has('INSTALLED')) return 'PENDING'
  return states.has('PENDING') ? 'INSTALLING' : 'REMOVING'
}

export function mostSevereState(components: readonly { readonly state: DeploymentState }[]): DeploymentState | null {
  return severity.find((state) => components.some((component) => component.state === state)) ?? null
}

/** A disagreement is shown, not refused: a device may fail before or after its components do. */
export function isConsistent(
  reported: DeploymentState,
  components: readonly { readonly state: DeploymentState }[],
  stage: FailureStage | null = null,
): boolean {
  const derived = deriveState(components)
  if (derived !== null && (stage === 'PRE_PROCESSING' || stage === 'POST_PROCESSING'))
    return isPossibleAfter(stage, derived)
  return derived === null || derived === reported || mostSevereState(components) === reported
}
