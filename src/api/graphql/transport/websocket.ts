/** WebSocket: graphql-transport-ws. Accepts sockets, watches that their clients answer and read, and closes them. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CloseCode, handleProtocols, MessageType, makeServer, parseMessage } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { DomainError } from '../../../domain/errors.ts'
import { retryAfter } from '../../../platform/limits/admission.ts'
import { uncounted } from '../../../platform/limits/held-bytes.ts'
import { maxMessageSize, maxOperationsPerSocket, maxUnread } from '../guards/limits.ts'
import { createHeartbeat } from './heartbeat.ts'
import { refuseUpgrade } from './upgrade.ts'
import { createCork, frameOf } from './websocket-frame.ts'
import { createOperations, type OperationDeps, type Peer } from './websocket-operations.ts'

interface WebSocketOptions extends OperationDeps {
  /** Milliseconds between checks of a client: heartbeat.ts. */
  readonly keepAlive?: number | undefined
  /** Milliseconds within which a client must send `connection_init`. */
  readonly initTimeout?: number | undefined
}

interface WebSockets {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes every socket with 1001 (going away) and terminates those that do not answer. */
  dispose(): Promise<void>
}

/** Milliseconds that a client has to answer a close frame. */
const closeTimeout = 1_000

/** A fragment of one byte needs some four hundred bytes of memory, and so does a piece of one byte. No client needs so many. */
const [maxFragments, maxBufferedChunks] = [256, 4_096]
const tooLong: ReadonlySet<string | undefined> = new Set([
  'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH',
  'WS_ERR_TOO_MANY_BUFFERED_PARTS',
])

/** Bytes that may be buffered before a sender waits, so that several messages of one turn are sent together. */
const writeAhead = 1024

const serverMessages: ReadonlySet<MessageType> = new Set([
  MessageType.ConnectionAck,
  MessageType.Next,
  MessageType.Error,
])

export function createWebSockets(options: WebSocketOptions): WebSockets {
  const { credentials, admission, maskError, keepAlive = 12_000, initTimeout = 3_000 } = options
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageSize,
    maxFragments,
    maxBufferedChunks,
    handleProtocols,
  })
  const cork = createCork()
  const heartbeat = createHeartbeat(keepAlive)
  const protocol = makeServer<Record<string, unknown>, Peer>({
    connectionInitWaitTimeout: initTimeout,
    ...createOperations(options),
  })

  /** ws has listened to the stream before, so a chunk is counted after the messages that end in it. */
  function trackMessages(socket: WebSocket, request: IncomingMessage, stream: Duplex): void {
    const unfinished = admission.trackMessages(request, (reason) => {
      if (reason === 'full') socket.close(1013, 'Try again later')
      // A client in the middle of a message does not answer the close frame, and its message would stay in memory.
      setImmediate(() => socket.terminate())
    })
    socket.on('message', (message: Buffer) => unfinished.ended(message.length))
    stream.on('data', (chunk: Buffer) => unfinished.arrived(chunk.length))
    socket.once('close', unfinished.close)
  }

  function open(socket: WebSocket, request: IncomingMessage, stream: Duplex): void {
    const unread = admission.trackUnread(request, () => socket.terminate())
    unread.limitTime()
    socket.once('close', unread.releaseAll)

    // Sending to a closed socket is not an error. The promise never resolves, so no more is sent.
    function send(frame: Buffer): Promise<void> | undefined {
      if (socket.readyState !== socket.OPEN) return new Promise(() => undefined)
      cork(stream)
      const isCounted = stream.writableLength + frame.length > uncounted
      if (!isCounted && stream.writableLength < writeAhead) return void stream.write(frame)
      if (isCounted) unread.hold(frame, frame.length)
      return new Promise((resolve) =>
        stream.write(frame, () => {
          if (isCounted) unread.release(frame)
          resolve()
        }),
      )
    }

    // Each operation listens to `close`, besides the socket's own listeners.
    socket.setMaxListeners(maxOperationsPerSocket + 20)
    const over = protocol.opened(
      {
        protocol: socket.protocol,
        send: (message) => send(frameOf(message)),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) => void socket.on('message', (message) => receive(String(message), take)),
      },
      { socket, request, send, principal: null, executing: 0 },
    )
    const heard = heartbeat.watch(socket)
    socket.on('pong', heard)
    socket.on('message', receiveMore).on('ping', receiveMore)
    trackMessages(socket, request, stream)
    // After a protocol error, ws has already closed the socket with its close code.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (tooLong.has(code)) admission.refuse('messageSize', 'the socket was closed')
    })
    socket.once('close', (code, reason) => {
      over(code, String(reason)).catch(fail)
    })

    /** Terminates a client that keeps sending without reading: its unread responses would fill the memory. */
    function receiveMore(): void {
      heard()
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
      if (!credentials.mayAsk(request)) return refuseUpgrade(socket, '403 Forbidden')
      try {
        admission.admit(request)
      } catch (error) {
        if (!(error instanceof DomainError)) throw error
        return refuseUpgrade(socket, `429 Too Many Requests\r\nRetry-After: ${retryAfter(error.facts)}`)
      }
      sockets.handleUpgrade(request, socket, head, (client) => open(client, request, socket))
    },
    async dispose() {
      heartbeat.close()
      const cutOff = setTimeout(() => {
        for (const client of sockets.clients) client.terminate()
      }, closeTimeout)
      for (const client of sockets.clients) client.close(1001, 'Going away')
      await new Promise<void>((resolve) => sockets.close(() => resolve()))
      clearTimeout(cutOff)
    },
  }
}
