/**
 * `Rollcall-Cost: include` adds the cost of the operation to the extensions of the answer, so that a developer sees how far a query is
 * from its limit, and which conditions no index serves. Such a request is never answered from the response cache.
 */
import { type ExecutionArgs, type ExecutionResult, validateExecutionArgs } from 'graphql'
import type { DocumentLimits } from '../guards/limits.ts'
import { unindexedOf } from '../guards/unindexed.ts'

export const costHeader = 'rollcall-cost'

export function asksForCost(value: string | readonly string[] | null | undefined): boolean {
  return value === 'include'
}

/** A document that does not pass validation has no cost. */
export function withCost(
  result: ExecutionResult,
  args: ExecutionArgs,
  { costOf }: Pick<DocumentLimits, 'costOf'>,
): ExecutionResult {
  const validated = validateExecutionArgs(args)
  if (!('schema' in validated)) return result
  const unindexed = unindexedOf(validated)
  const cost = { ...costOf(validated), ...(unindexed.length > 0 ? { unindexed } : {}) }
  return { ...result, extensions: { ...result.extensions, cost } }
}
