import { stateCounter } from '../../domain/counters.ts'
import { deploymentStates } from '../../domain/values.ts'

/** SQL: the number of deployments that a row of `rollouts` or `log_head` of that name counts, in any state. */
export function sumOfStates(row: string): string {
  return deploymentStates.map((state) => `${row}.${stateCounter(state)}`).join(' + ')
}
