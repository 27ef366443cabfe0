/**
 * Executes operations for all transports. Each operation has one context and one snapshot, closed at its end. Each
 * event of a subscription has its own, because loaders cache what they read.
 */
import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type ValidatedSubscriptionArgs,
  validateExecutionArgs,
  validateSubscriptionArgs,
} from 'graphql'
import { type Principal, rightsKey } from '../../domain/principal.ts'
import type { Revision } from '../../domain/values.ts'
import type { LogHead } from '../../store/database.ts'
import { refuseOperation } from '../guards/access.ts'
import { asRefusal } from '../guards/limits.ts'
import type { Costing } from '../guards/operation-cost.ts'
import type { Source, SourceEvent } from '../subscriptions/event-source.ts'
import { type Context, type ContextDeps, type ContextOptions, createContext } from './context.ts'
import { createEventResult, type EventResult } from './event-result.ts'
import { executeWithin } from './execute-within.ts'
import { dependsOnHeadOnly } from './head-dependence.ts'
import type { SharedExecution } from './shared-execution.ts'
import type { Execute, Listener, SubscriberGroups } from './subscriber-group.ts'

/** The results of a subscription, pushed to one listener. */
export interface ResultStream {
  /** For a stream of changes without `after`: its first revision, or a little earlier. */
  readonly start: Revision | null
  /** Starts to send results. Call the returned function to stop. */
  listen(listener: Listener): () => void
  /** Ends a subscription without a listener. */
  close(): void
}

export type ExecuteOptions = Pick<ContextOptions, 'enter' | 'address' | 'whose'>

export interface Executed {
  readonly result: ExecutionResult
  /** If the result depends on this log head alone: it stays valid until the head moves. */
  readonly head: LogHead | null
}

export async function executeOperation(
  deps: ContextDeps,
  args: ExecutionArgs,
  principal: Principal,
  options: ExecuteOptions = {},
): Promise<Executed> {
  const refusals = refuseOperation(args.schema, args.document, principal)
  if (refusals.length > 0) return { result: { errors: refusals }, head: null }
  const context = createContext(deps, { ...options, principal })
  try {
    const validated = validateWithin(deps, args, (own) => validateExecutionArgs({ ...own, contextValue: context }))
    if (!('schema' in validated)) return { result: validated, head: null }
    const isWriting = validated.operation.operation === 'mutation'
    const result = await executeWithin(context, validated)
    const isOfHead = !isWriting && !result.errors && dependsOnHeadOnly(args.schema, args.document)
    return { result, head: isOfHead ? await context.head() : null }
  } finally {
    const closing = context.close()
    if (!context.signal().aborted) await closing
  }
}

/** Checks that depend on variables run here, per request, and not with the document, which is cached. */
function validateWithin<Validated extends Costing>(
  { limits }: ContextDeps,
  args: ExecutionArgs,
  validate: (args: ExecutionArgs) => Validated | readonly GraphQLError[],
): Validated | { readonly errors: readonly GraphQLError[] } {
  const { refusal, errors } = limits.checkVariables(args.variableValues)
  if (refusal) return { errors: [asRefusal(refusal)] }
  const validated = validate({ ...args, options: { maxCoercionErrors: errors } })
  if (!('schema' in validated)) return { errors: validated.map(asBadInput) }
  const tooCostly = limits.checkCost(validated)
  return tooCostly ? { errors: [asRefusal(tooCostly)] } : validated
}

export interface SubscriptionDeps extends ContextDeps {
  readonly shared: SharedExecution
  readonly groups: SubscriberGroups
}

export interface SubscribeOptions extends Pick<ContextOptions, 'whose'> {
  readonly lastEventId?: string | null
  /** Called once when the subscription ends, also if it never began. */
  readonly ended?: () => void
}

export async function subscribeOperation(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  principal: Principal,
  options: SubscribeOptions = {},
): Promise<ResultStream | ExecutionResult> {
  let hasBegun = false
  try {
    const result = await subscribe(deps, args, principal, options)
    hasBegun = isResultStream(result)
    return result
  } finally {
    if (!hasBegun) options.ended?.()
  }
}

export function isResultStream(result: ResultStream | ExecutionResult): result is ResultStream {
  return 'listen' in result
}

async function subscribe(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  principal: Principal,
  { whose, lastEventId = null, ended }: SubscribeOptions,
): Promise<ResultStream | ExecutionResult> {
  const refusals = refuseOperation(args.schema, args.document, principal)
  if (refusals.length > 0) return { errors: refusals }
  const contextValue = createContext(deps, { principal, whose, lastEventId })
  const validated = validateWithin(deps, args, (own) => validateSubscriptionArgs({ ...own, contextValue }))
  const found = 'schema' in validated ? await createSourceEventStream(validated) : validated
  await contextValue.close()
  if (!('schema' in validated) || !(Symbol.asyncIterator in found)) return found as ExecutionResult
  const source = found as Source<unknown>
  const operation = JSON.stringify([args.operationName, args.variableValues, rightsKey(principal)])
  const key = deps.shared.keyOf(args.document, operation)
  const execute: Execute = (event, isAlone) => {
    const own = (): EventResult | Promise<EventResult> => executeEvent(deps, validated, event, { principal, whose })
    const result = isAlone && event.snapshot ? own() : deps.shared.execute(key, event, own)
    if (result instanceof Promise) return result.finally(event.release)
    event.release()
    return result
  }
  return createResultStream(
    {
      join: (listener) => deps.groups.join(key, source, execute, listener),
      cancel: () => void source.return(),
    },
    source.start,
    ended,
  )
}

interface Beginning {
  join(listener: Listener): () => void
  /** Closes the source instead of joining. */
  cancel(): void
}

/** Releases `begin` after the start: it holds most of an idle subscription's memory. */
function createResultStream(begin: Beginning, start: Revision | null, ended: () => void = () => {}): ResultStream {
  let beginning: Beginning | null = begin
  let isOver = false

  function finish(): void {
    if (isOver) return
    isOver = true
    ended()
  }

  return {
    start,
    listen({ take, end, fail }) {
      const leave = beginning?.join({
        take,
        end() {
          finish()
          end()
        },
        fail(error) {
          finish()
          fail(error)
        },
      })
      beginning = null
      return () => {
        finish()
        leave?.()
      }
    },
    close() {
      finish()
      beginning?.cancel()
      beginning = null
    },
  }
}

/** The fixed cost of an event in values. One commit may notify thousands of subscribers. */
const valuesOfEvent = 50

/** Returns synchronously if no resolver waits and this turn of the event loop has capacity left. */
function executeEvent(
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
}

function executeNow(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  caller: Caller,
): EventResult | Promise<EventResult> {
  const contextValue = createContext(deps, { ...caller, snapshot: event.snapshot })
  // Only the payload is read. Anything else would be kept in memory for as long as the result.
  const rootValue: Pick<SourceEvent, 'payload'> = { payload: event.payload }
  const result = executeWithin(contextValue, { ...args, rootValue, contextValue })
  if (result instanceof Promise) return whenExecuted(contextValue, result, event)
  void contextValue.close()
  return resultOf(event, result, contextValue.principal.accessScope === null)
}

async function whenExecuted(
  context: Context,
  work: Promise<ExecutionResult>,
  event: SourceEvent,
): Promise<EventResult> {
  try {
    const result = await work
    const mayBeOfEvent = event.resumeFrom !== null && !result.errors && context.principal.accessScope === null
    return resultOf(event, result, mayBeOfEvent && (await context.head()) === null)
  } finally {
    await context.close()
  }
}

function resultOf({ resumeFrom }: SourceEvent, result: ExecutionResult, isOfEvent: boolean): EventResult {
  return createEventResult(result, resumeFrom, resumeFrom !== null && isOfEvent && !result.errors)
}

/** A wrong operation name or variable is the client's error: 400, not 500. */
function asBadInput(error: GraphQLError): GraphQLError {
  const extensions = { code: 'BAD_USER_INPUT', ...error.extensions, http: { spec: true, status: 400 } }
  return new GraphQLError(error.message, {
    nodes: error.nodes,
    source: error.source,
    positions: error.positions,
    path: error.path,
    extensions,
  })
}
