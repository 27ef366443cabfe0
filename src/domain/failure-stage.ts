/**
 * Where a deployment failed, in the words of the proposal that the specification's states come from
 * (https://github.com/margo/specification/issues/10): before its components, in one of them, or after all of them.
 */
import type { Deployment } from './deployment.ts'
import type { DeploymentState, FailureStage } from './values.ts'

type Parts = readonly { readonly name: string; readonly state: DeploymentState }[]

/** What the reporter says, else what its components show. `components`: all of them, as they are after the report. */
export function failureStage(
  state: DeploymentState,
  told: FailureStage | null,
  components: Parts,
  known: Deployment | null,
): FailureStage | null {
  if (state !== 'FAILED') return null
  if (told) return told
  // A repeat says nothing new, although the state before it no longer shows what was under way.
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

/** Whether components that all say the same bear out a failure in that stage, of installing or of removing. */
export function bearsOut(stage: FailureStage | null, derived: DeploymentState): boolean {
  if (stage === 'PRE_PROCESSING') return derived === 'PENDING' || derived === 'INSTALLED'
  return stage === 'POST_PROCESSING' && (derived === 'INSTALLED' || derived === 'REMOVED')
}

function sameStates(a: Parts, b: Parts): boolean {
  return (
    a.length === b.length && a.every(({ name, state }) => b.some((one) => one.name === name && one.state === state))
  )
}
