/**
 * Where a deployment failed: before its components, in one of them, or after all of them. The stages come from the proposal
 * that introduced the specification's states (https://github.com/margo/specification/issues/10).
 */
import type { Deployment } from './deployment.ts'
import type { DeploymentState, FailureStage } from './values.ts'

type Parts = readonly { readonly name: string; readonly state: DeploymentState }[]

/** The stage that the reporter names, or else the one that its components imply. `components`: all of them, after the report. */
export function failureStage(
  state: DeploymentState,
  reported: FailureStage | null,
  components: Parts,
  known: Deployment | null,
): FailureStage | null {
  if (state !== 'FAILED') return null
  if (reported) return reported
  // A repeated report keeps the stage: the state before it is already FAILED, so it no longer implies a stage.
  if (known?.state === 'FAILED' && sameStates(components, known.components)) return known.failureStage
  const [first] = components
  if (!first) return null
  if (components.some((component) => component.state !== first.state)) return 'PROCESSING'
  switch (first.state) {
    case 'PENDING':
      return 'PRE_PROCESSING'
    case 'INSTALLED':
      return known?.state === 'REMOVING' ? 'PRE_PROCESSING' : 'POST_PROCESSING'
    case 'REMOVED':
      return 'POST_PROCESSING'
    default:
      return 'PROCESSING'
  }
}

/** Whether components that all have the state `derived` are possible after a failure in that stage, when installing or removing. */
export function isPossibleAfter(stage: FailureStage | null, derived: DeploymentState): boolean {
  if (stage === 'PRE_PROCESSING') return derived === 'PENDING' || derived === 'INSTALLED'
  return stage === 'POST_PROCESSING' && (derived === 'INSTALLED' || derived === 'REMOVED')
}

function sameStates(a: Parts, b: Parts): boolean {
  return (
    a.length === b.length && a.every(({ name, state }) => b.some((one) => one.name === name && one.state === state))
  )
}
