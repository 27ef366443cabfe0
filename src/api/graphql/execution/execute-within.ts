/** Executes an operation within the time and size limits of its context. */
import { type ExecutionResult, GraphQLError, type ValidatedExecutionArgs } from 'graphql'
import { orAborted } from '../../../store/connection/abort.ts'
import { asRefusal } from '../guards/limits.ts'
import type { Context } from './context.ts'
import {
  type Execution,
  type InParts,
  type PartsFormat,
  type SelectionPlan,
  startExecution,
  startInParts,
} from './executor.ts'

/** Returns synchronously if no resolver waits. */
export function executeWithin(
  context: Context,
  args: ValidatedExecutionArgs,
  plan?: SelectionPlan,
): ExecutionResult | Promise<ExecutionResult> {
  const execution = startExecution(args, context, plan)
  const { result } = execution
  if (!(result instanceof Promise)) return bounded(context, released(result))
  // A mutation is never abandoned: its caller must learn the outcome of the write.
  const isWriting = args.operation.operation === 'mutation'
  const work = isWriting ? result : inTime(context, execution, result)
  return work.then((made) => bounded(context, released(made)))
}

/** For a client that takes parts. Those that come later have the limits of the operation, too (parts.ts). */
export async function executeInParts(
  context: Context,
  args: ValidatedExecutionArgs,
  format: PartsFormat,
): Promise<ExecutionResult | InParts> {
  const execution = startInParts(args, context, format)
  const work = Promise.resolve(execution.result)
  const made = await (args.operation.operation === 'mutation' ? work : inTime(context, execution, work))
  return isInParts(made) ? made : bounded(context, released(made))
}

export function isInParts(made: ExecutionResult | InParts): made is InParts {
  return 'initialResult' in made
}

/** Reads fail by themselves at the deadline, but the embedded database cannot cancel a running statement. */
async function inTime<Result>(
  context: Context,
  { stop }: Execution<Result>,
  work: Promise<Result>,
): Promise<Result | ExecutionResult> {
  const signal = context.signal()
  try {
    return await orAborted(work, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    stop(signal.reason)
    return { errors: [asRefusal(signal.reason)] }
  }
}

/**
 * Copies the result and empties the executor's own. The executor assigns a function that refers to the result to one of
 * its properties, and V8 promotes such a function to the old generation, so the result would live until the next full
 * garbage collection.
 */
function released(result: ExecutionResult): ExecutionResult {
  const own = { ...result }
  result.data = null
  return own
}

/** After a timeout, thousands of lists could each report the same error. The response contains it once. */
function bounded(context: Context, result: ExecutionResult): ExecutionResult {
  const excess = context.excess()
  if (!excess || !result.errors?.some(({ originalError }) => originalError === excess)) return result
  // A later retry succeeds, so it is a 503.
  if (excess.code === 'UNAVAILABLE') return { errors: [asRefusal(excess)] }
  return { data: null, errors: [new GraphQLError(excess.message, { originalError: excess })] }
}
