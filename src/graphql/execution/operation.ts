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
import { isOfHeadOnly } from '../transport/response-cache.ts'
import { type Context, type ContextDeps, type ContextOptions, createContext } from './context.ts'
import { type EventResult, isOfEvent, resumeFrom } from './event-result.ts'
import { executeWithin } from './execute-within.ts'
import type { SharedExecution } from './shared-execution.ts'
import type { Execute, Listener, SubscriberGroups } from './subscriber-group.ts'

export interface EventResults extends AsyncIterableIterator<EventResult> {
  /** Pushes results to a listener instead of being pulled. Call the returned function to unsubscribe. */
  tell(listener: Listener): () => void
}

export interface ExecuteOptions extends Pick<ContextOptions, 'enter' | 'address' | 'whose'> {
  /** Called if the response depends on this log head alone: it stays valid until the head moves. */
  readonly answered?: (head: LogHead) => void
}

export async function executeOperation(
  deps: ContextDeps,
  args: ExecutionArgs,
  principal: Principal,
  { enter, address, whose, answered }: ExecuteOptions = {},
): Promise<ExecutionResult> {
  const refusals = refuseOperation(args.schema, args.document, principal)
  if (refusals.length > 0) return { errors: refusals }
  const context = createContext(deps, { principal, enter, address, whose })
  try {
    const validated = validateWithin(deps, args, (own) => validateExecutionArgs({ ...own, contextValue: context }))
    if (!('schema' in validated)) return validated
    const isWriting = validated.operation.operation === 'mutation'
    const result = await executeWithin(context, validated)
    const isKept = !isWriting && !result.errors && isOfHeadOnly(args.schema, args.document)
    const head = answered && isKept ? await context.head() : null
    if (head) answered?.(head)
    return result
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
  /** Called with the start of a stream of changes without `after`. */
  readonly begins?: (at: Revision) => void
  /** Called once when the subscription ends, also if it never began. */
  readonly ended?: () => void
}

export async function subscribeOperation(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  principal: Principal,
  options: SubscribeOptions = {},
): Promise<EventResults | ExecutionResult> {
  let hasBegun = false
  try {
    const result = await subscribe(deps, args, principal, options)
    hasBegun = Symbol.asyncIterator in result
    return result
  } finally {
    if (!hasBegun) options.ended?.()
  }
}

async function subscribe(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  principal: Principal,
  options: SubscribeOptions,
): Promise<EventResults | ExecutionResult> {
  const refusals = refuseOperation(args.schema, args.document, principal)
  if (refusals.length > 0) return { errors: refusals }
  const contextValue = createContext(deps, {
    principal,
    whose: options.whose,
    lastEventId: options.lastEventId ?? null,
  })
  const validated = validateWithin(deps, args, (own) => validateSubscriptionArgs({ ...own, contextValue }))
  const source = 'schema' in validated ? await createSourceEventStream(validated) : validated
  await contextValue.close()
  if (!('schema' in validated) || !(Symbol.asyncIterator in source)) return source as ExecutionResult
  const events = source as Source<unknown>
  if (events.start !== null) options.begins?.(events.start)
  const operation = JSON.stringify([args.operationName, args.variableValues, rightsKey(principal)])
  const key = deps.shared.keyOf(args.document, operation)
  const execute: Execute = (event, isAlone) => {
    const own = (): EventResult | Promise<EventResult> =>
      executeEvent(deps, validated, event, { principal, whose: options.whose })
    const result = isAlone && event.snapshot ? own() : deps.shared.execute(key, event, own)
    if (result instanceof Promise) return result.finally(event.release)
    event.release()
    return result
  }
  return createResults(
    {
      join: (listener) => deps.groups.join(key, events, execute, listener),
      cancel: () => void events.return(),
    },
    options.ended,
  )
}

interface Beginning {
  join(listener: Listener): () => void
  /** Closes the source instead of joining. */
  cancel(): void
}

/** Releases `begin` after the start: it holds most of an idle subscription's memory. */
function createResults(begin: Beginning, ended: () => void = () => undefined): EventResults {
  const over = { done: true, value: undefined } as const
  let beginning: Beginning | null = begin
  let leave = (): void => beginning?.cancel()
  let asked: PromiseWithResolvers<IteratorResult<EventResult>> | null = null
  let isFree: (() => void) | null = null
  let isOver = false
  let failure: { readonly error: unknown } | null = null

  function finish(): void {
    if (isOver) return
    isOver = true
    ended()
  }

  const tell: EventResults['tell'] = ({ take, end, fail }) => {
    const listener: Listener = {
      take,
      end() {
        finish()
        end()
      },
      fail(error) {
        finish()
        fail(error)
      },
    }
    if (beginning) leave = beginning.join(listener)
    beginning = null
    return () => void quit()
  }

  /** The listener for pull mode: busy until the next result is requested. */
  const asking: Listener = {
    take(value) {
      asked?.resolve({ done: false, value })
      asked = null
      return new Promise((resolve) => (isFree = resolve))
    },
    end: () => asked?.resolve(over),
    fail(error) {
      if (asked) asked.reject(error)
      else failure = { error }
    },
  }

  function quit(): typeof over {
    const waiting = asked
    finish()
    leave()
    waiting?.resolve(over)
    return over
  }

  return {
    tell,
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      const failed = failure
      failure = null
      if (failed) return Promise.reject(failed.error)
      if (isOver) return Promise.resolve(over)
      asked = Promise.withResolvers()
      const { promise } = asked
      isFree?.()
      if (beginning) tell(asking)
      return promise
    },
    return: async () => quit(),
    async throw(error) {
      quit()
      throw error
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
  return resumable(event, result, contextValue.principal.accessScope === null)
}

async function whenExecuted(
  context: Context,
  work: Promise<ExecutionResult>,
  event: SourceEvent,
): Promise<EventResult> {
  try {
    const result = await work
    const isOfIt = event.resumeFrom !== null && !result.errors && context.principal.accessScope === null
    return resumable(event, result, isOfIt && (await context.head()) === null)
  } finally {
    await context.close()
  }
}

function resumable(event: SourceEvent, result: ExecutionResult, isOfIt: boolean): EventResult {
  if (event.resumeFrom === null) return result
  return { ...result, [resumeFrom]: event.resumeFrom, [isOfEvent]: isOfIt && !result.errors }
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
