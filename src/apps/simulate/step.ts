/** One step of a deployment in the simulated fleet. */
import type { DeploymentState, StatusError } from '../../domain/values.ts'

export interface Step {
  /** Milliseconds after the start. */
  readonly at: number
  readonly state: DeploymentState
  readonly error: StatusError | null
  readonly components: readonly StepComponent[]
  /** The version of the desired state that it applies: + 1 each round. */
  readonly manifestVersion: number
}

export interface StepComponent {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
}
