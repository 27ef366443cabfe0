/** Starts subscriptions for all transports. subscriber-group.ts executes their events. */
import type { IncomingMessage } from 'node:http'
import { createSourceEventStream, type ExecutionArgs, type ExecutionResult, validateSubscriptionArgs } from 'graphql'
import { type Principal, rightsKey } from '../../../domain/principal.ts'
import type { Revision } from '../../../domain/values.ts'
import type { TraceOperation } from '../../../platform/traced.ts'
import { refuseOperation } from '../guards/access.ts'
import type { Source } from '../subscriptions/event-source.ts'
import { type ContextDeps, type ContextOptions, createContext } from './context.ts'
import { shapeOf } from './document-shape.ts'
import { executeEvent } from './event-execution.ts'
import type { EventResult } from './event-result.ts'
import { validateWithin } from './operation.ts'
import type { SharedExecution } from './shared-execution.ts'
import type { SubscriberGroups } from './subscriber-group.ts'
import type { Listener, Operation } from './subscriber-line.ts'

/** The results of a subscription, pushed to one listener. */
export interface ResultStream {
  /** For a stream of changes without `after`: its first revision, or a little earlier. */
  readonly start: Revision | null
  /** Starts to send results. Call the returned function to stop. */
  listen(listener: Listener): () => void
  /** Ends a subscription without a listener. */
  close(): void
}

export interface SubscriptionDeps extends ContextDeps {
  readonly shared: SharedExecution
  readonly groups: SubscriberGroups
  readonly traced: TraceOperation
}

interface SubscribeOptions extends Pick<ContextOptions, 'whose'> {
  readonly lastEventId?: string | null
  /** Called once when the subscription ends, also if it never began. */
  readonly ended?: () => void
  /** Of the subscription, or of its socket. */
  readonly request?: IncomingMessage | null
}

export async function subscribeOperation(
  deps: SubscriptionDeps,
  args: ExecutionArgs,
  principal: Principal,
  options: SubscribeOptions = {},
): Promise<ResultStream | ExecutionResult> {
  let hasBegun = false
  try {
    const { request = null } = options
    const result = await deps.traced(args, request, () => subscribe(deps, args, principal, options))
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
  const contextValue = createContext(deps, { principal, whose, lastEventId, freshness: 'present' })
  const validated = validateWithin(deps, args, (own) => validateSubscriptionArgs({ ...own, contextValue }))
  const found = 'schema' in validated ? await createSourceEventStream(validated) : validated
  await contextValue.close()
  if (!('schema' in validated) || !(Symbol.asyncIterator in found)) return found as ExecutionResult
  const source = found as Source<unknown>
  const shape = shapeOf(args.document, args.operationName)
  const rights = rightsKey(principal)
  const values = shape.variables.map((name) =>
    args.variableValues?.[name] === undefined ? [] : [args.variableValues[name]],
  )
  const key = `${shape.hash} ${JSON.stringify(values)} ${rights}`
  const { document } = args
  const caller = { principal, whose, document, plan: new Map() }
  const execute: Operation['execute'] = (event, sharing) => {
    const own = (): EventResult | Promise<EventResult> => executeEvent(deps, validated, event, caller)
    const isOwn = sharing === 'none' || (sharing === 'later' && event.snapshot !== null)
    return isOwn ? own() : deps.shared.execute(key, event, own)
  }
  return createResultStream(
    {
      join: (listener) => deps.groups.join(source, { rights, key, document, execute }, listener),
      cancel: () => source.close(),
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
