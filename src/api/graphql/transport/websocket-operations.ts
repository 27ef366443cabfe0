/** The operations of WebSocket clients, on Yoga's enveloped functions: limits and error masking are those of HTTP. */
import type { IncomingMessage } from 'node:http'
import { type ExecutionArgs, type ExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import type { ServerOptions } from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { Principal } from '../../../domain/principal.ts'
import type { Admission } from '../../../platform/limits/admission.ts'
import type { ApiAuth } from '../../auth/api/api-auth.ts'
import type { Credentials } from '../../auth/api/credentials.ts'
import { formatError, formatResult, type MaskError, maskResult } from '../execution/errors.ts'
import { type EventResult, textOf } from '../execution/event-result.ts'
import { isResultStream, type ResultStream } from '../execution/subscription.ts'
import { asRefusal, maxOperationsPerSocket, orRefusal } from '../guards/limits.ts'
import { requireOperation } from '../guards/operation-name.ts'
import type { FindDocument } from '../guards/persisted-documents.ts'
import { createRequestState } from './request-state.ts'
import { frameOf } from './websocket-frame.ts'
import type { Yoga } from './yoga.ts'

export interface OperationDeps {
  readonly yoga: Yoga
  readonly auth: Pick<ApiAuth, 'identify' | 'follow'>
  readonly credentials: Credentials
  readonly admission: Admission
  readonly maskError: MaskError
  /** Null: any document is executed. */
  readonly findDocument: FindDocument | null
  readonly subscribe: (
    args: ExecutionArgs,
    principal: Principal,
    peer: { readonly whose: string; readonly request: IncomingMessage },
  ) => Promise<ResultStream | ExecutionResult>
}

/** The state of a socket. */
export interface Peer {
  readonly socket: WebSocket
  /** The upgrade request. */
  readonly request: IncomingMessage
  /** Resolves when the socket can take more. Undefined: at once. */
  readonly send: (frame: Buffer) => Promise<void> | undefined
  /** Null: not authenticated yet. */
  principal: Principal | null
  /** Operations that are executing, even if the client has completed them. */
  executing: number
}

/** An operation that was admitted, parsed and validated. graphql-ws passes what `onSubscribe` returns to `execute`. */
interface Prepared extends ExecutionArgs {
  readonly run: (args: ExecutionArgs) => Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>
}

type Hooks = Required<
  Pick<
    ServerOptions<Record<string, unknown>, Peer>,
    'onConnect' | 'onSubscribe' | 'onNext' | 'onError' | 'execute' | 'subscribe'
  >
>

export function createOperations(deps: OperationDeps): Hooks {
  const { yoga, auth, credentials, admission, maskError, findDocument, subscribe } = deps
  const run = (args: ExecutionArgs) => (args as Prepared).run(args)

  /** An unexpected failure ends its operation only, not the socket. */
  async function orMasked<T>(work: () => Promise<T> | T): Promise<T | ExecutionResult> {
    try {
      return await work()
    } catch (error) {
      return { errors: [maskError(error)] }
    }
  }

  // Separate functions, so that their closures do not keep the scope of onSubscribe for the life of a subscription.
  function subscribing(peer: Peer, id: string, principal: Principal): Prepared['run'] {
    return (args) =>
      orMasked(async () => {
        const { request } = peer
        const whose = admission.callerOf(principal, request)
        const result = await subscribe(args, principal, { whose, request })
        return isResultStream(result) ? untilEnd(peer, id, result) : maskResult(result, maskError)
      })
  }

  function executing(peer: Peer, execute: ReturnType<Yoga['getEnveloped']>['execute']): Prepared['run'] {
    return async (args) => {
      peer.executing += 1
      try {
        return await orMasked<ExecutionResult>(() => execute(args))
      } finally {
        peer.executing -= 1
      }
    }
  }

  /**
   * Writes results to the socket directly. graphql-ws iterates what it gets, so this iterator has no values and ends
   * with the subscription.
   */
  function untilEnd(peer: Peer, id: string, results: ResultStream): AsyncIterableIterator<ExecutionResult> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<ExecutionResult>>()
    const over = { done: true, value: undefined } as const
    let beginning: ResultStream | null = results
    let leave = (): void => beginning?.close()
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next() {
        if (beginning)
          leave = beginning.listen({
            take: (result) => peer.send(frameFor(id, result)),
            end: () => resolve(over),
            fail: (error) => reject(maskError(error)),
          })
        beginning = null
        return promise
      },
      return() {
        leave()
        resolve(over)
        return promise
      },
    }
  }

  function frameFor(id: string, result: EventResult): Buffer {
    if (result.frame?.id === id) return result.frame.bytes
    const payload = textOf(result, (own) => formatResult(maskResult(own, maskError)))
    const bytes = frameOf(`{"id":${JSON.stringify(id)},"type":"next","payload":${payload}}`)
    result.frame = { id, bytes }
    return bytes
  }

  return {
    execute: run,
    subscribe: run,
    async onConnect({ connectionParams, extra: peer }) {
      const { socket, request } = peer
      try {
        const principal = await auth.identify(credentials.of(request, connectionParams))
        // If the socket closed meanwhile, its `close` event has already fired.
        if (socket.readyState !== socket.OPEN) return false
        socket.once('close', admission.openStream(admission.callerOf(principal, request)))
        peer.principal = principal
        socket.once(
          'close',
          auth.follow(principal, () => socket.close(4403, 'Forbidden')),
        )
        return true
      } catch (error) {
        const { message, extensions } = maskError(error)
        const { code } = extensions
        if (code === 'INTERNAL_SERVER_ERROR') socket.close(1011, message)
        else if (code !== 'UNAUTHENTICATED' && code !== 'FORBIDDEN')
          socket.close(1013, code === 'TOO_MANY' ? 'Too many sockets and event streams are open' : 'Try again later')
        return false
      }
    },
    async onSubscribe({ subscriptions, extra: peer }, id, payload) {
      if (Math.max(Object.keys(subscriptions).length - 1, peer.executing) >= maxOperationsPerSocket) {
        const message = `a socket can run at most ${maxOperationsPerSocket} operations at once: complete some first`
        return [asRefusal(admission.refuse('operationsPerSocket', message, { max: maxOperationsPerSocket }))]
      }
      try {
        orRefusal(() => admission.admit(peer.request))
        const { principal, request, socket } = peer
        if (!principal) throw new Error('the socket has no authenticated caller')
        const isClosed = () => socket.readyState !== socket.OPEN
        const state = createRequestState({ request, connection: socket, isClosed, identify: async () => principal })
        await state.authenticate()
        const { schema, parse, validate, contextFactory, execute } = yoga.getEnveloped({ state })
        const { operationName, variables } = payload
        const document = parse(orRefusal(() => findDocument?.(payload) ?? payload.query))
        requireOperation(document, operationName)
        const errors: readonly GraphQLError[] = validate(schema, document)
        if (errors.length > 0) return errors
        const args = { schema, document, operationName, variableValues: variables }
        const isSubscription = getOperationAST(document, operationName)?.operation === 'subscription'
        const prepared: Prepared = isSubscription
          ? { ...args, contextValue: null, run: subscribing(peer, id, principal) }
          : { ...args, contextValue: await contextFactory(), run: executing(peer, execute) }
        return prepared
      } catch (error) {
        // If rethrown, a syntax error would close the socket with all its other operations.
        return [maskError(error)]
      }
    },
    onNext: (_, __, ___, ____, result) => formatResult(result),
    // graphql-ws wraps an error that ends a stream; without unwrapping, its code would be lost.
    onError: (_, __, ___, errors) =>
      errors.map((error) => formatError(error.cause instanceof GraphQLError ? error.cause : error)),
  }
}
