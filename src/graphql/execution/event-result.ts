/** The result of one event of a subscription. */
import type { ExecutionResult } from 'graphql'
import type { Revision } from '../../domain/values.ts'

/** On a result of `changes`: the cursor of its event. JSON omits it; copies of the result keep it. */
export const resumeFrom: unique symbol = Symbol('resumeFrom')

/** On a result that depends on its event alone: nothing was read, and the caller has no access scope. */
export const isOfEvent: unique symbol = Symbol('isOfEvent')

export interface EventResult extends ExecutionResult {
  readonly [resumeFrom]?: Revision
  readonly [isOfEvent]?: boolean
}
