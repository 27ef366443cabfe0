/**
 * Executing operations, the same for every transport: one context and one snapshot for each, closed when it is over; for each event
 * of a subscription a new one, or its loaders would answer from the past.
 */
import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  executeRootSelectionSet,
  executeSubscriptionEvent,
  GraphQLError,
  type ValidatedSubscriptionArgs,
  validateExecutionArgs,
  validateSubscriptionArgs,
} from 'graphql'
import type { Revision } from '../domain/deployment.ts'
import { type Identity, rightsKey } from '../domain/identity.ts'
import { orAborted } from '../store/abort.ts'
import type { LogHead } from '../store/database.ts'
import { refuseOperation } from './access.ts'
import { isOfHeadOnly } from './answer-cache.ts'
import { type Context, type ContextDeps, type ContextOptions, createContext } from './context.ts'
import type { Crowds, Execute, Listener } from './crowd.ts'
import { asRefusal } from './limits.ts'
import type { Costing } from './operation-cost.ts'
import type { SharedExecution } from './shared-execution.ts'
import type { Source, SourceEvent } from './source-event.ts'

/** On a result of `changes`: the cursor of its event. JSON does not show it; copies of the result keep it. */
export const resumeFrom: unique symbol = Symbol('resumeFrom')

/** On a result that was made of its event alone: nothing was read, and its reader sees everything. */
export const isOfEvent: unique symbol = Symbol('isOfEvent')

export interface EventResult extends ExecutionResult {
  readonly [resumeFrom]?: Revision
  readonly [isOfEvent]?: boolean
}

export interface EventResults extends AsyncIterableIterator<EventResult> {
  /** Has what comes told to a listener, instead of asking for it. Call what it returns to leave. */
  tell(listener: Listener): () => void
}

export interface ExecuteOptions extends Pick<ContextOptions, 'enter' | 'address'> {
  /** Told when the answer is of this head and of nothing else: it stays true while the head stays. */
  readonly answered?: (head: LogHead) => void
}

export async function executeOperation(
  deps: ContextDeps,
  args: ExecutionArgs,
  identity: Identity,
  { enter, address, answered }: ExecuteOptions = {},
): Promise<ExecutionResult> {
  const refusals = refuseOperation(args.schema, args.document, identity)
  if (refusals.length > 0) return { errors: refusals }
  const context = createContext(deps, { identity, enter, address })
  try {
    const validated = validateWithin(deps, args, (own) => validateExecutionArgs({ ...own, contextValue: context }))
    if (!('schema' in validated)) return validated
    const work = Promise.resolve(executeRootSelectionSet(validated))
    // What is being written is waited for: its caller has to know.
    const isWriting = validated.operation.operation === 'mutation'
    const result = bounded(context, released(await (isWriting ? work : inTime(context, work))))
    const isKept = !isWriting && !result.errors && isOfHeadOnly(args.schema, args.document)
    const head = answered && isKept ? await context.head() : null
    if (head) answered?.(head)
    return result
  } finally {
    const closing = context.close()
    if (!context.signal().aborted) await closing
  }
}

/** The reads fail by themselves when their time is over; but the embedded database finishes what it has begun. */
async function inTime<Result>(context: Context, work: Promise<Result>): Promise<Result | ExecutionResult> {
  const signal = context.signal()
  try {
    return await orAborted(work, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    return { errors: [asRefusal(signal.reason)] }
  }
}

/** The variables belong to the request, so what depends on them is checked here and not with the document. */
function validateWithin<Validated extends Costing>(
  { limits }: ContextDeps,
  args: ExecutionArgs,
  validate: (args: ExecutionArgs) => Validated | readonly GraphQLError[],
): Validated | { readonly errors: readonly GraphQLError[] } {
  const tooDeep = limits.checkVariables(args.variableValues)
  if (tooDeep) return { errors: [asRefusal(tooDeep)] }
  const validated = validate(args)
  if (!('schema' in validated)) return { errors: validated.map(asBadInput) }
  const tooCostly = limits.checkCost(validated)
  return tooCostly ? { errors: [asRefusal(tooCostly)] } : validated
}

export interface SubscriptionDeps extends ContextDeps {
  readonly shared: SharedExecution
  readonly crowds: Crowds
}

export interface SubscribeOptions {
  readonly lastEventId?: string | null
  /** Told where a stream of changes begins that was not told where. */
  readonly begins?: (at: Revision) => void
  /** Called once, when nothing more will come: also when nothing has begun. */
  readonly ended?: () => void
}

export async function subscribeOperation(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  identity: Identity,
  options: SubscribeOptions = {},
): Promise<EventResults | ExecutionResult> {
  let hasBegun = false
  try {
    const result = await subscribe(deps, args, identity, options)
    hasBegun = Symbol.asyncIterator in result
    return result
  } finally {
    if (!hasBegun) options.ended?.()
  }
}

async function subscribe(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  identity: Identity,
  options: SubscribeOptions,
): Promise<EventResults | ExecutionResult> {
  const refusals = refuseOperation(args.schema, args.document, identity)
  if (refusals.length > 0) return { errors: refusals }
  const contextValue = createContext(deps, { identity, lastEventId: options.lastEventId ?? null })
  const validated = validateWithin(deps, args, (own) => validateSubscriptionArgs({ ...own, contextValue }))
  const source = 'schema' in validated ? await createSourceEventStream(validated) : validated
  await contextValue.close()
  if (!('schema' in validated) || !(Symbol.asyncIterator in source)) return source as ExecutionResult
  const events = source as Source<unknown>
  if (events.start !== null) options.begins?.(events.start)
  const operation = JSON.stringify([args.operationName, args.variableValues, rightsKey(identity)])
  const key = deps.shared.keyOf(args.document, operation)
  const execute: Execute = (event, isAlone) => {
    const own = (): EventResult | Promise<EventResult> => executeEvent(deps, validated, event, identity)
    const result = isAlone && event.snapshot ? own() : deps.shared.execute(key, event, own)
    if (result instanceof Promise) return result.finally(event.release)
    event.release()
    return result
  }
  return createResults(
    {
      join: (listener) => deps.crowds.join(key, events, execute, listener),
      cancel: () => void events.return(),
    },
    options.ended,
  )
}

interface Beginning {
  join(listener: Listener): () => void
  /** Instead of that. */
  cancel(): void
}

/** What it takes to begin is let go of then: most of an idle subscription's memory. */
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

  /** Asked for one after another: busy until the next one is asked for. */
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

/** What waits for nothing is there at once. */
function executeEvent(
  deps: ContextDeps,
  args: ValidatedSubscriptionArgs,
  event: SourceEvent,
  identity: Identity,
): EventResult | Promise<EventResult> {
  const contextValue = createContext(deps, { identity, snapshot: event.snapshot })
  // Nothing else of it is read, and what is not there cannot be kept.
  const rootValue: Pick<SourceEvent, 'payload'> = { payload: event.payload }
  const work = executeSubscriptionEvent({ ...args, rootValue, contextValue })
  if (work instanceof Promise) return whenExecuted(contextValue, work, event)
  void contextValue.close()
  return resumable(event, bounded(contextValue, released(work)), identity.sight === null)
}

async function whenExecuted(
  context: Context,
  work: Promise<ExecutionResult>,
  event: SourceEvent,
): Promise<EventResult> {
  try {
    const result = bounded(context, released(await inTime(context, work)))
    const isOfIt = event.resumeFrom !== null && !result.errors && context.identity.sight === null
    return resumable(event, result, isOfIt && (await context.head()) === null)
  } finally {
    await context.close()
  }
}

/**
 * A copy of what graphql's executor keeps, which is emptied: a function that it assigns to one of its properties refers to it, and V8
 * makes such a function old at once, so that all it refers to would be kept until the next full collection.
 */
function released(result: ExecutionResult): ExecutionResult {
  const own = { ...result }
  result.data = null
  return own
}

function resumable(event: SourceEvent, result: ExecutionResult, isOfIt: boolean): EventResult {
  if (event.resumeFrom === null) return result
  return { ...result, [resumeFrom]: event.resumeFrom, [isOfEvent]: isOfIt && !result.errors }
}

/** Thousands of lists would each say the same. */
function bounded(context: Context, result: ExecutionResult): ExecutionResult {
  const excess = context.excess()
  if (!excess || !result.errors?.some(({ originalError }) => originalError === excess)) return result
  return { data: null, errors: [new GraphQLError(excess.message, { originalError: excess })] }
}

/** What is wrong with an operation's name or variables is the client's to mend: 400, not a failure of ours. */
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
