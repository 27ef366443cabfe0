/** WebSocket: graphql-transport-ws on Yoga's enveloped functions, so limits, execution and masking are those of HTTP. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ExecutionArgs, type ExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import { handleProtocols, makeServer } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { createAttachment } from '../attachment.ts'
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { ofHeaders, ofPayload, readCredentials } from '../auth/api/credentials.ts'
import { DomainError } from '../domain/errors.ts'
import type { Identity } from '../domain/identity.ts'
import { type Gate, retryAfter } from '../limits/gate.ts'
import { formatError, formatResult, type MaskError } from './errors.ts'
import { asRefusal, maxMessageSize, maxOperationsPerSocket, maxUnread, orRefusal } from './limits.ts'
import type { EventResult, EventResults } from './operation.ts'
import { isAllowedOrigin } from './origin.ts'
import type { FindDocument } from './persisted-documents.ts'
import { textOf } from './shared-execution.ts'
import type { Yoga } from './yoga.ts'

export interface WebSocketOptions {
  readonly auth: Pick<ApiAuth, 'identify' | 'follow'>
  /** Origins of other sites whose pages may connect; `*`: all. */
  readonly origins: readonly string[]
  readonly gate: Gate
  readonly maskError: MaskError
  /** Null: whatever is asked is executed. */
  readonly findDocument: FindDocument | null
  readonly subscribe: (args: ExecutionArgs, identity: Identity) => Promise<EventResults | ExecutionResult>
  /** Milliseconds between pings; a peer that has not answered by the next one is dead. */
  readonly keepAlive?: number | undefined
  /** Milliseconds until a socket must have said who it is. */
  readonly initTimeout?: number | undefined
}

export interface WebSockets {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every socket with 1001, "going away"; those that do not answer are cut off. */
  dispose(): Promise<void>
}

/** How long a socket may take to say goodbye. */
const farewell = 1_000

/** Bytes that a socket is given before anybody waits for it to take them: some messages of one turn, so that they go out together. */
const ahead = 1024

/** What is known of a socket. */
interface Peer {
  readonly socket: WebSocket
  readonly request: IncomingMessage
  /** Resolves when he may be told more; undefined: at once. */
  readonly send: (frame: Buffer) => Promise<void> | undefined
  /** Null: he has not said who he is. */
  identity: Identity | null
  /** What is executed for it, completed by its client or not. */
  executing: number
}

export function createWebSockets(yoga: Yoga, options: WebSocketOptions): WebSockets {
  const { auth, gate, origins, maskError, findDocument, subscribe, keepAlive = 12_000, initTimeout = 3_000 } = options
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
      const [payload, headers] = [ofPayload(connectionParams), ofHeaders(request.headers)]
      const presented = readCredentials((name) => payload(name) ?? headers(name), gate.addresses.of(request))
      try {
        const identity = await auth.identify(presented)
        // It may have closed meanwhile, and would not say so again.
        if (socket.readyState !== socket.OPEN) return false
        socket.once('close', gate.openStream(gate.principalOf(identity, request)))
        peer.identity = identity
        socket.once(
          'close',
          auth.follow(identity, () => socket.close(4403, 'Forbidden')),
        )
        return true
      } catch (error) {
        const { message, extensions } = maskError(error)
        const { code } = extensions
        if (code === 'INTERNAL_SERVER_ERROR') socket.close(1011, message)
        else if (code !== 'UNAUTHENTICATED')
          socket.close(1013, code === 'TOO_MANY' ? 'Too many sockets and event streams are open' : 'Try again later')
        return false
      }
    },
    async onSubscribe({ subscriptions, extra: peer }, id, payload) {
      if (Math.max(Object.keys(subscriptions).length - 1, peer.executing) >= maxOperationsPerSocket) {
        const message = `a socket may have ${maxOperationsPerSocket} operations under way at most: complete some first`
        return [asRefusal(gate.refuse('operationsPerSocket', message, { max: maxOperationsPerSocket }))]
      }
      try {
        orRefusal(() => gate.admit(peer.request))
        const { identity } = peer
        const { schema, parse, validate, contextFactory, execute } = yoga.getEnveloped({ identity, req: peer.request })
        const { operationName, variables } = payload
        const document = parse(orRefusal(() => findDocument?.(payload) ?? payload.query))
        const errors: readonly GraphQLError[] = validate(schema, document)
        if (errors.length > 0) return errors
        const args = { schema, document, operationName, variableValues: variables }
        if (identity && getOperationAST(document, operationName)?.operation === 'subscription') {
          return { ...args, contextValue: null, rootValue: subscribing(peer, id, identity) }
        }
        return { ...args, contextValue: await contextFactory(), rootValue: executing(peer, execute) }
      } catch (error) {
        // Thrown on, a syntax error would close the socket and with it everybody else's operations.
        return [maskError(error)]
      }
    },
    onNext: (_, __, ___, ____, result) => formatResult(result),
    // An error that ends a stream is wrapped by graphql-ws, and would lose its code.
    onError: (_, __, ___, errors) =>
      errors.map((error) => formatError(error.cause instanceof GraphQLError ? error.cause : error)),
  })
  /** What fails unexpectedly ends that operation, and not the socket with all the others. */
  async function orAnswered<T>(work: () => Promise<T> | T): Promise<T | ExecutionResult> {
    try {
      return await work()
    } catch (error) {
      return { errors: [maskError(error)] }
    }
  }

  // Functions of their own: what they are made in is not kept for as long as a subscription lasts.
  function subscribing(peer: Peer, id: string, identity: Identity): Operation {
    return (args) => orAnswered(async () => told(peer, id, await subscribe(args, identity)))
  }

  function executing(peer: Peer, execute: ReturnType<Yoga['getEnveloped']>['execute']): Operation {
    return (args) => counted(peer, () => execute(args))
  }

  /** graphql-ws asks for the first result, and is answered when all is over: the results in between are sent past it. */
  function told(peer: Peer, id: string, results: EventResults | ExecutionResult) {
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

  /** Those that were made last: a crowd is told the same, and most clients begin to count at the same number. */
  const made = createAttachment<EventResult, { readonly id: string; readonly frame: Buffer }>('frame')

  function frameFor(id: string, result: EventResult): Buffer {
    const last = made.get(result)
    if (last?.id === id) return last.frame
    const payload = textOf(result, (own) => formatResult(masked(own)))
    const frame = frameOf(`{"id":${JSON.stringify(id)},"type":"next","payload":${payload}}`)
    made.set(result, { id, frame })
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
    // A peer that is gone is told nothing, and that is nobody's failure: he only takes no more.
    function send(frame: Buffer): Promise<void> | undefined {
      if (socket.readyState !== socket.OPEN) return new Promise(() => undefined)
      cork(stream)
      if (stream.writableLength < ahead) return void stream.write(frame)
      return new Promise((resolve) => stream.write(frame, () => resolve()))
    }

    const over = protocol.opened(
      {
        protocol: socket.protocol,
        send: (message) => send(frameOf(message)),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) => void socket.on('message', (text) => take(String(text)).catch(fail)),
      },
      { socket, request, send, identity: null, executing: 0 },
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
    socket.on('message', cutOffDeaf).on('ping', cutOffDeaf)
    // Whatever a peer did wrong, ws has closed the socket with its code already.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') gate.refuse('messageSize', 'the socket was closed')
    })
    socket.once('close', (code, reason) => {
      clearInterval(pings)
      over(code, String(reason)).catch(fail)
    })

    /** Whoever goes on talking without reading has us keep all that he is answered. */
    function cutOffDeaf(): void {
      if (socket.bufferedAmount <= maxUnread) return
      gate.refuse('unread', 'the socket was cut off')
      socket.terminate()
    }

    function fail(error: unknown): void {
      socket.close(1011, maskError(error).message.slice(0, 100))
    }
  }

  return {
    upgrade(request, socket, head) {
      if (!isAllowedOrigin(request.headers, origins)) {
        // Node leaves an upgrading socket without a listener: a reset would end the process.
        socket.on('error', () => undefined)
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
        return
      }
      try {
        gate.admit(request)
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
      }, farewell)
      for (const client of sockets.clients) client.close(1001, 'Going away')
      await new Promise<void>((resolve) => sockets.close(() => resolve()))
      clearTimeout(cutOff)
    },
  }
}

/**
 * A text message as it goes over the wire (RFC 6455, 5.2: whole, and a server's are not masked). Made once for a crowd: ws would make a head of its own
 * for each socket, and hand over two buffers.
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

/** What is said to a socket in one turn goes out together: a commit may tell hundreds of its subscriptions something. */
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

/** It belongs to the operation, so its arguments carry it. */
type Operation = (args: ExecutionArgs) => Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>

function operationOf(args: ExecutionArgs): Operation {
  return args.rootValue as Operation
}
