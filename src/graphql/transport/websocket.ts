/** WebSocket: graphql-transport-ws on Yoga's enveloped functions, so limits and error masking are those of HTTP. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ExecutionArgs, type ExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import { CloseCode, handleProtocols, MessageType, makeServer, parseMessage } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { createAttachment } from '../../attachment.ts'
import type { ApiAuth } from '../../auth/api/api-auth.ts'
import type { Credentials } from '../../auth/api/credentials.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Principal } from '../../domain/principal.ts'
import { type Admission, retryAfter } from '../../limits/admission.ts'
import { formatError, formatResult, type MaskError } from '../execution/errors.ts'
import type { EventResult } from '../execution/event-result.ts'
import type { EventResults } from '../execution/operation.ts'
import { textOf } from '../execution/shared-execution.ts'
import { asRefusal, maxMessageSize, maxOperationsPerSocket, maxUnread, orRefusal } from '../guards/limits.ts'
import type { FindDocument } from '../guards/persisted-documents.ts'
import type { Yoga } from './yoga.ts'

export interface WebSocketOptions {
  readonly auth: Pick<ApiAuth, 'identify' | 'follow'>
  readonly credentials: Credentials
  readonly admission: Admission
  readonly maskError: MaskError
  /** Null: any document is executed. */
  readonly findDocument: FindDocument | null
  readonly subscribe: (
    args: ExecutionArgs,
    principal: Principal,
    whose: string,
  ) => Promise<EventResults | ExecutionResult>
  /** Milliseconds between pings. A client that has not answered by the next ping is disconnected. */
  readonly keepAlive?: number | undefined
  /** Milliseconds within which a client must send `connection_init`. */
  readonly initTimeout?: number | undefined
}

export interface WebSockets {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every socket with 1001 (going away) and terminates those that do not answer. */
  dispose(): Promise<void>
}

/** Milliseconds that a client has to answer a close frame. */
const closeTimeout = 1_000

/** Bytes that may be buffered before a sender waits, so that several messages of one turn are sent together. */
const writeAhead = 1024

const serverMessages: ReadonlySet<MessageType> = new Set([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
])

/** The state of a socket. */
interface Peer {
  readonly socket: WebSocket
  readonly request: IncomingMessage
  /** Resolves when the socket can take more. Undefined: at once. */
  readonly send: (frame: Buffer) => Promise<void> | undefined
  /** Null: not authenticated yet. */
  principal: Principal | null
  /** Operations that are executing, even if the client has completed them. */
  executing: number
}

export function createWebSockets(yoga: Yoga, options: WebSocketOptions): WebSockets {
  const { auth, credentials, admission, maskError, findDocument, subscribe } = options
  const { keepAlive = 12_000, initTimeout = 3_000 } = options
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageSize,
    handleProtocols,
  })
  const cork = createCork()
  const protocol = makeServer<Record<string, unknown>, Peer>({
    connectionInitWaitTimeout: initTimeout,
    execute: (args) => operationOf(args)(args),
    subscribe: (args) => operationOf(args)(args),
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
        const { principal } = peer
        const { schema, parse, validate, contextFactory, execute } = yoga.getEnveloped({ principal, req: peer.request })
        const { operationName, variables } = payload
        const document = parse(orRefusal(() => findDocument?.(payload) ?? payload.query))
        const errors: readonly GraphQLError[] = validate(schema, document)
        if (errors.length > 0) return errors
        const args = { schema, document, operationName, variableValues: variables }
        if (principal && getOperationAST(document, operationName)?.operation === 'subscription') {
          return { ...args, contextValue: null, rootValue: subscribing(peer, id, principal) }
        }
        return { ...args, contextValue: await contextFactory(), rootValue: executing(peer, execute) }
      } catch (error) {
        // If rethrown, a syntax error would close the socket with all its other operations.
        return [maskError(error)]
      }
    },
    onNext: (_, __, ___, ____, result) => formatResult(result),
    // graphql-ws wraps an error that ends a stream; without unwrapping, its code would be lost.
    onError: (_, __, ___, errors) =>
      errors.map((error) => formatError(error.cause instanceof GraphQLError ? error.cause : error)),
  })
  /** An unexpected failure ends its operation only, not the socket. */
  async function orAnswered<T>(work: () => Promise<T> | T): Promise<T | ExecutionResult> {
    try {
      return await work()
    } catch (error) {
      return { errors: [maskError(error)] }
    }
  }

  // Separate functions, so that their closures do not keep the scope of onSubscribe for the life of a subscription.
  function subscribing(peer: Peer, id: string, principal: Principal): Operation {
    return (args) =>
      orAnswered(async () =>
        pushed(peer, id, await subscribe(args, principal, admission.callerOf(principal, peer.request))),
      )
  }

  function executing(peer: Peer, execute: ReturnType<Yoga['getEnveloped']>['execute']): Operation {
    return (args) => counted(peer, () => execute(args))
  }

  /** graphql-ws waits for a first result, which comes only at the end. Results are written to the socket directly. */
  function pushed(peer: Peer, id: string, results: EventResults | ExecutionResult) {
    if (!(Symbol.asyncIterator in results)) return masked(results)
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<ExecutionResult>>()
    const over = { done: true, value: undefined } as const
    let beginning: EventResults | null = results
    let leave = (): unknown => beginning?.return?.()
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next() {
        if (beginning)
          leave = beginning.tell({
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

  const masked = (result: ExecutionResult): ExecutionResult =>
    result.errors ? { ...result, errors: result.errors.map(maskError) } : result

  /** The last frame of each result: a group gets the same result, and most clients use the same operation ID. */
  const frames = createAttachment<EventResult, { readonly id: string; readonly frame: Buffer }>('frame')

  function frameFor(id: string, result: EventResult): Buffer {
    const last = frames.get(result)
    if (last?.id === id) return last.frame
    const payload = textOf(result, (own) => formatResult(masked(own)))
    const frame = frameOf(`{"id":${JSON.stringify(id)},"type":"next","payload":${payload}}`)
    frames.set(result, { id, frame })
    return frame
  }

  async function counted<T>(peer: Peer, work: () => Promise<T> | T): Promise<T | ExecutionResult> {
    peer.executing += 1
    try {
      return await orAnswered(work)
    } finally {
      peer.executing -= 1
    }
  }

  function open(socket: WebSocket, request: IncomingMessage, stream: Duplex): void {
    // Sending to a closed socket is not an error. The promise never resolves, so no more is sent.
    function send(frame: Buffer): Promise<void> | undefined {
      if (socket.readyState !== socket.OPEN) return new Promise(() => undefined)
      cork(stream)
      if (stream.writableLength < writeAhead) return void stream.write(frame)
      return new Promise((resolve) => stream.write(frame, () => resolve()))
    }

    const over = protocol.opened(
      {
        protocol: socket.protocol,
        send: (message) => send(frameOf(message)),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) => void socket.on('message', (message) => receive(String(message), take)),
      },
      { socket, request, send, principal: null, executing: 0 },
    )
    let isAlive = true
    const pings = setInterval(() => {
      if (!isAlive) return socket.terminate()
      isAlive = false
      socket.ping()
    }, keepAlive)
    socket.on('pong', () => {
      isAlive = true
    })
    socket.on('message', terminateUnread).on('ping', terminateUnread)
    // After a protocol error, ws has already closed the socket with its close code.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') admission.refuse('messageSize', 'the socket was closed')
    })
    socket.once('close', (code, reason) => {
      clearInterval(pings)
      over(code, String(reason)).catch(fail)
    })

    /** Terminates a client that keeps sending without reading: its unread responses would fill the memory. */
    function terminateUnread(): void {
      if (socket.bufferedAmount <= maxUnread) return
      admission.refuse('unread', 'the socket was cut off')
      socket.terminate()
    }

    // graphql-ws closes with a code for each client error, except for a message type that only servers send: it throws.
    function receive(text: string, take: (text: string) => Promise<void>): void {
      take(text).catch((error: unknown) => {
        if (!serverMessages.has(parseMessage(text).type)) fail(error)
        else socket.close(CloseCode.BadRequest, 'Only servers send this message type')
      })
    }

    function fail(error: unknown): void {
      socket.close(1011, maskError(error).message.slice(0, 100))
    }
  }

  return {
    upgrade(request, socket, head) {
      if (!credentials.mayAsk(request)) {
        // Node leaves an upgrading socket without an error listener: a reset would end the process.
        socket.on('error', () => undefined)
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
        return
      }
      try {
        admission.admit(request)
      } catch (error) {
        if (!(error instanceof DomainError)) throw error
        const again = `Retry-After: ${retryAfter(error.facts)}`
        socket.on('error', () => undefined)
        socket.end(`HTTP/1.1 429 Too Many Requests\r\n${again}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
        return
      }
      sockets.handleUpgrade(request, socket, head, (client) => open(client, request, socket))
    },
    async dispose() {
      const cutOff = setTimeout(() => {
        for (const client of sockets.clients) client.terminate()
      }, closeTimeout)
      for (const client of sockets.clients) client.close(1001, 'Going away')
      await new Promise<void>((resolve) => sockets.close(() => resolve()))
      clearTimeout(cutOff)
    },
  }
}

/**
 * A text message as one unmasked WebSocket frame (RFC 6455, section 5.2). Built once for all subscribers: ws would
 * build a header per socket and write two buffers.
 */
function frameOf(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = 0x81
  if (head === 2) frame[1] = length
  else if (head === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.write(text, head)
  return frame
}

/** Combines the writes to a socket in one turn: one commit may notify hundreds of its subscriptions. */
function createCork(): (stream: Duplex) => void {
  let corked: Duplex[] = []

  function uncork(): void {
    const streams = corked
    corked = []
    for (const stream of streams) stream.uncork()
  }

  return (stream) => {
    if (stream.writableCorked > 0) return
    stream.cork()
    if (corked.push(stream) === 1) setImmediate(uncork)
  }
}

/** Passed through the operation's `rootValue`. */
type Operation = (args: ExecutionArgs) => Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>

function operationOf(args: ExecutionArgs): Operation {
  return args.rootValue as Operation
}
