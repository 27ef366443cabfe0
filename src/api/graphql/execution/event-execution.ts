/** Executes one event of a subscription. Each event has a context of its own, because loaders cache what they read. */
import type { DocumentNode, ExecutionResult, ValidatedSubscriptionArgs } from 'graphql'
import type { Principal } from '../../../domain/principal.ts'
import type { SourceEvent } from '../subscriptions/event-source.ts'
import { type Context, type ContextDeps, type ContextOptions, createContext } from './context.ts'
import { createEventResult, type EventResult } from './event-result.ts'
import { executeWithin } from './execute-within.ts'
import type { SelectionPlan } from './executor.ts'

/** The fixed cost of an event in values. One commit may notify thousands of subscribers. */
const valuesOfEvent = 50

/** Returns synchronously if no resolver waits and this turn of the event loop has capacity left. */
export function executeEvent(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  caller: Caller,
): EventResult | Promise<EventResult> {
  const turn = deps.slices.enter(caller.whose ?? caller.principal.name, valuesOfEvent)
  return turn ? turn.then(() => executeNow(deps, args, event, caller)) : executeNow(deps, args, event, caller)
}

interface Caller extends Pick<ContextOptions, 'whose'> {
  readonly principal: Principal
  /** The document that is executed. */
  readonly document: DocumentNode
  /** Kept for all events. */
  readonly plan: SelectionPlan
}

function executeNow(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  caller: Caller,
): EventResult | Promise<EventResult> {
  const { principal, whose } = caller
  const contextValue = createContext(deps, { principal, whose, snapshot: event.snapshot, freshness: 'present' })
  // Only the payload is read. Anything else would be kept in memory for as long as the result.
  const rootValue: Pick<SourceEvent, 'payload'> = { payload: event.payload }
  const result = executeWithin(contextValue, { ...args, rootValue, contextValue }, caller.plan)
  if (result instanceof Promise) return whenExecuted(contextValue, result, event, caller)
  void contextValue.close()
  return resultOf(event, result, caller, contextValue.principal.accessScope === null)
}

async function whenExecuted(
  context: Context,
  work: Promise<ExecutionResult>,
  event: SourceEvent,
  caller: Caller,
): Promise<EventResult> {
  try {
    const result = await work
    const mayBeOfEvent = event.resumeFrom !== null && !result.errors && context.principal.accessScope === null
    return resultOf(event, result, caller, mayBeOfEvent && (await context.head()) === null)
  } finally {
    await context.close()
  }
}

function resultOf(
  { resumeFrom }: SourceEvent,
  result: ExecutionResult,
  { document }: Caller,
  isOfEvent: boolean,
): EventResult {
  return createEventResult(result, resumeFrom, resumeFrom !== null && isOfEvent && !result.errors, document)
}
