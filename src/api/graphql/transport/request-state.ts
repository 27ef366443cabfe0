/**
 * The state of one request. The transport's parts receive it explicitly, and Yoga passes it to its plugins in the
 * context. Properties on Node's request would be hidden and untyped. A WeakMap costs twice as much: V8 keeps its values
 * until the next full garbage collection.
 */
import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DocumentNode, ExecutionResult } from 'graphql'
import type { Principal } from '../../../domain/principal.ts'
import type { Revision } from '../../../domain/values.ts'
import type { OnGone } from '../../../platform/limits/deadline.ts'
import type { LogHead } from '../../../store/database.ts'
import type { Parts } from '../execution/parts.ts'
import type { ResultStream } from '../execution/subscription.ts'

export interface RequestState {
  /** Null: a request without a socket (`fetch`). For a WebSocket operation: the upgrade request. */
  readonly request: IncomingMessage | null
  readonly response: ServerResponse | null
  readonly onGone: OnGone
  /** Authenticates the caller once; later calls return the same result. */
  authenticate(): Promise<Principal>
  /** The result of `authenticate`. Null: not authenticated yet. */
  principal: Principal | null
  /** The log's head, if it was read with the credential. It is not older than the request. */
  headSeen: LogHead | null
  /** Set if the response depends on this document and this log head alone. */
  dependsOn: { readonly document: DocumentNode; readonly head: LogHead } | null
  /** The revision that the response includes. Null: nothing was read or written. */
  revision: Revision | null
  /** The result of the fast path if it has errors: Yoga formats them. */
  executed: Promise<ExecutionResult> | null
  /** What the response sends after its first part, by parts.ts. */
  parts: Parts | null
  /** The results of a subscription, which event-stream.ts sends. */
  events: ResultStream | null
}

interface RequestOrigin {
  readonly request?: IncomingMessage | null
  readonly response?: ServerResponse | null
  /** Emits `close` when the client leaves. Default: the response, which also emits it when the response is complete. */
  readonly connection?: Pick<EventEmitter, 'once' | 'off'> | null
  readonly isClosed?: () => boolean
  readonly identify: (seen: (head: LogHead) => void) => Promise<Principal>
}

export function createRequestState({
  request = null,
  response = null,
  connection = response,
  isClosed = () => response?.destroyed ?? false,
  identify,
}: RequestOrigin): RequestState {
  let identifying: Promise<Principal> | null = null
  const state: RequestState = {
    request,
    response,
    onGone(act) {
      if (!connection) return () => undefined
      if (isClosed()) act()
      connection.once('close', act)
      return () => connection.off('close', act)
    },
    authenticate() {
      identifying ??= identify((head) => {
        state.headSeen = head
      }).then((principal) => {
        state.principal = principal
        return principal
      })
      return identifying
    },
    principal: null,
    headSeen: null,
    dependsOn: null,
    revision: null,
    executed: null,
    parts: null,
    events: null,
  }
  return state
}

/** The part of Yoga's context that the transport sets. */
export interface StateContext {
  readonly state: RequestState
}

export function stateOf(context: object): RequestState {
  const { state } = context as Partial<StateContext>
  if (!state) throw new Error('the request has no state')
  return state
}

/** Throws if the request was not authenticated. */
export function principalOf({ principal }: RequestState): Principal {
  if (!principal) throw new Error('the request has no authenticated caller')
  return principal
}
