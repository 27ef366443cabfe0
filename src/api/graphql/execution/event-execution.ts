/** Executes one event of a subscription. Each event has a context of its own, because loaders cache what they read. */
import type { DocumentNode, ExecutionResult, ValidatedSubscriptionArgs } from 'graphql'
import type { Principal } from '../../../domain/principal.ts'
import type { SourceEvent } from '../subscriptions/event-source.ts'
import { type Context, type ContextDeps, type ContextOptions, createContext } from './context.ts'
import { createEventResult, createTextResult, type EventResult } from './event-result.ts'
import { executeWithin } from './execute-within.ts'
import type { SelectionPlan } from './executor.ts'
import { createFieldPlan, type FieldPlan } from './shared/field-plan.ts'
import type { ObjectTypes, SharedFields } from './shared/shared-fields.ts'

/** The fixed cost of an event in values. One commit may notify thousands of subscribers. */
const valuesOfEvent = 50

/** The same for an event whose fields other subscribers have executed. */
const valuesOfAssembly = 20

/**
 * Returns synchronously if no resolver waits and this turn of the event loop has capacity left. `shared`: the fields that
 * subscribers with other documents have executed. Null: there are no such subscribers.
 */
export function executeEvent(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  caller: Caller,
  shared: SharedFields | null,
): EventResult | Promise<EventResult> {
  const execute = (): EventResult | Promise<EventResult> =>
    shared ? executeSharing(deps, args, event, caller, shared) : executeNow(deps, args, event, caller)
  const values = !shared || shared.isEmpty() ? valuesOfEvent : valuesOfAssembly
  const turn = deps.slices.enter(caller.whose ?? caller.principal.name, values)
  return turn ? turn.then(execute) : execute()
}

/** Assembles the response from shared fields, or executes the operation and shares its fields. */
function executeSharing(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  caller: Caller,
  shared: SharedFields,
): EventResult | Promise<EventResult> {
  const pending = shared.pending()
  if (pending) return pending.then(() => executeSharing(deps, args, event, caller, shared))
  caller.fields ??= createFieldPlan(args)
  const { fields, document } = caller
  const text = shared.textOf(fields)
  if (text !== null) return createTextResult(text, event.resumeFrom, shared.isOfEvent(), document)
  const types: ObjectTypes = new Map()
  const add = (own: EventResult, isOfPresent: boolean): EventResult => {
    shared.add(fields, own.result, types, own.isOfEvent, isOfPresent)
    return own
  }
  const result = executeNow(deps, args, event, caller, types)
  // Reads wait, so a synchronous result has read nothing.
  if (!(result instanceof Promise)) return add(result, false)
  const added = result.then((own) => add(own, event.snapshot === null && !own.isOfEvent))
  shared.wait(added)
  return added
}

interface Caller extends Pick<ContextOptions, 'whose'> {
  readonly principal: Principal
  /** The document that is executed. */
  readonly document: DocumentNode
  /** Kept for all events. */
  readonly plan: SelectionPlan
  /** Null: not needed yet. */
  fields: FieldPlan | null
}

function executeNow(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  caller: Caller,
  types: ObjectTypes | null = null,
): EventResult | Promise<EventResult> {
  const { principal, whose } = caller
  const contextValue = createContext(deps, { principal, whose, snapshot: event.snapshot, freshness: 'present' })
  // Only the payload is read. Anything else would be kept in memory for as long as the result.
  const rootValue: Pick<SourceEvent, 'payload'> = { payload: event.payload }
  const result = executeWithin(contextValue, { ...args, rootValue, contextValue }, caller.plan, types)
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
