/** The counters of deployments, of the fleet and of each rollout. The transaction that changes a deployment changes them (promise 4). */
import type { Deployment } from './deployment.ts'
import { type Convergence, convergences } from './desired.ts'
import { type DeploymentState, deploymentStates } from './values.ts'

type StateCounter = Lowercase<DeploymentState>
type ConvergenceCounter = `convergence${Capitalize<Lowercase<Convergence>>}`
export type Counter = StateCounter | ConvergenceCounter
export type Counters = Record<Counter, number>

export function stateCounter(state: DeploymentState): StateCounter {
  return state.toLowerCase() as StateCounter
}

export function convergenceCounter(convergence: Convergence): ConvergenceCounter {
  return `convergence${convergence.charAt(0)}${convergence.slice(1).toLowerCase()}` as ConvergenceCounter
}

export const counters: readonly Counter[] = [
  ...deploymentStates.map(stateCounter),
  ...convergences.map(convergenceCounter),
]

const zero = Object.fromEntries(counters.map((counter) => [counter, 0])) as Counters

export function zeroCounters(): Counters {
  return { ...zero }
}

/** A number of deployments with equal values. */
export interface Tally {
  readonly state: DeploymentState
  readonly convergence: Convergence
  readonly n: number
}

/** Forgotten deployments and those of replaced instances are not counted. */
export function isCounted({ forgottenAt, isCurrent }: Pick<Deployment, 'forgottenAt' | 'isCurrent'>): boolean {
  return forgottenAt === null && isCurrent
}
