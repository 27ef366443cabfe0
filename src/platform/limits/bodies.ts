/**
 * Reads request bodies within a budget of bytes, for all requests and for each address. Above the budget a request is refused (503), so a
 * client that sends large bodies and never ends them does not take the memory of others. A body that arrives too slowly is cut off, even
 * when its total time is not over.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { DomainError } from '../../domain/errors.ts'
import { createCallerSemaphore } from './caller-semaphore.ts'
import { codingOf, decode } from './content-coding.ts'
import { gather } from './gather.ts'
import { type HeldBytes, uncounted } from './held-bytes.ts'
import type { Refuse } from './limits.ts'

export interface Bodies {
  /** The whole body. Throws TOO_LARGE as soon as the size is known, or UNAVAILABLE. It reads and drops the rest, so a client that reads only after it has sent receives the error. */
  read(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer>
  /** The body without its Content-Encoding. It has at most `limit` bytes too. Throws TOO_LARGE, UNAVAILABLE, or what content-coding.ts throws. */
  decode(request: IncomingMessage, response: ServerResponse, sent: Buffer, limit: number): Promise<Buffer>
  /** Reads and drops a body of which nothing was read. Node would do the same after the response, but takes pieces of a byte without end. */
  drop(request: IncomingMessage): void
}

/** The client closed the connection before the body was complete. No answer can be sent. */
export class ClientGone extends Error {}

export const leastBytes = 10 << 10

/** Each piece is an event, so a body of single bytes would take the processor for a minute. Beyond `fewPieces`, a piece must have so many bytes on average. */
export const [fewPieces, leastPiece] = [16_384, 16]

/** Bodies that are decompressed at once: of all, and half of them of one address. A decoder of zstd has a window of up to 8 MiB beside the counted bytes. */
const mostDecoders = 8

/** `timeout`: milliseconds in which `leastBytes` more of a body must arrive. */
export function createBodies(
  held: HeldBytes,
  timeout: number,
  refuse: Refuse,
  networkOf: (request: IncomingMessage) => string,
): Bodies {
  const ownDecoders = createCallerSemaphore(mostDecoders / 2)
  const allDecoders = createCallerSemaphore(mostDecoders)

  function collect(request: IncomingMessage, response: ServerResponse, limit: number): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const body = gather()
    const isFlood = createFloodCheck()
    let [size, counted, isOver] = [0, 0, false]
    let watch: NodeJS.Timeout | undefined

    function letGo(): void {
      if (counted > 0) held.release(networkOf(request), counted)
      counted = 0
    }

    function stop(error: unknown): void {
      isOver = true
      clearInterval(watch)
      body.drop()
      letGo()
      reject(error)
    }

    /** Checks at the end of each interval that `leastBytes` have arrived since the previous check. */
    function watchPace(): void {
      let before = size
      watch = setInterval(() => {
        if (size - before < leastBytes) cutOff(request, stop, refuse)
        before = size
      }, timeout).unref()
      response.once('close', letGo)
    }

    request.on('data', (chunk: Buffer) => {
      if (isFlood(chunk)) return isOver ? end(request) : cutOff(request, stop, refuse)
      if (isOver) return
      size += chunk.length
      if (size > limit) return stop(tooLarge(limit))
      body.add(chunk)
      if (size <= uncounted) return
      if (!watch) watchPace()
      try {
        held.hold(networkOf(request), size - uncounted - counted)
        counted = size - uncounted
      } catch (error) {
        stop(error)
      }
    })
    request.on('end', () => {
      clearInterval(watch)
      if (!isOver) resolve(body.take())
    })
    request.on('error', (cause) => stop(brokeOff({ cause })))
    return promise
  }

  /** The response is complete, or has begun. */
  function end({ socket }: IncomingMessage): void {
    if (!socket.writableEnded && !socket.destroyed) refuse('slowRequest', 'the connection was closed')
    socket.destroy()
  }

  return {
    drop(request) {
      const isFlood = createFloodCheck()
      request.on('data', (chunk: Buffer) => {
        if (isFlood(chunk)) end(request)
      })
      // Node drops what has not been read when the response is complete, without an event.
      request.read(0)
    },
    async read(request, response, limit) {
      if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
      // The connection closed while the credential was checked, and emits no further event.
      if (request.destroyed) throw brokeOff()
      return await collect(request, response, limit)
    },
    async decode(request, response, sent, limit) {
      const coding = codingOf(request.headers['content-encoding'])
      if (coding === null) return sent
      if (response.destroyed) throw brokeOff()
      const gone = new AbortController()
      let counted = 0
      response.once('close', () => {
        held.release(networkOf(request), counted)
        gone.abort(brokeOff())
      })
      const leaveOwn = await ownDecoders.enter(networkOf(request), gone.signal)
      try {
        const leave = await allDecoders.enter('all', gone.signal)
        try {
          return await decode(coding, sent, (size) => {
            gone.signal.throwIfAborted()
            if (size > limit) throw tooLarge(limit)
            const more = Math.max(size - uncounted, 0) - counted
            if (more > 0) held.hold(networkOf(request), more)
            counted += Math.max(more, 0)
          })
        } finally {
          leave()
        }
      } finally {
        leaveOwn()
      }
    },
  }
}

/** Whether a body has come in too many pieces, with this one. */
function createFloodCheck(): (piece: Buffer) => boolean {
  let [size, pieces] = [0, 0]
  return ({ length }) => {
    size += length
    pieces += 1
    return pieces > fewPieces + size / leastPiece
  }
}

function cutOff({ socket }: IncomingMessage, stop: (error: Error) => void, refuse: Refuse): void {
  refuse('slowRequest', 'the connection was closed')
  stop(new ClientGone('the body came too slowly'))
  socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n', () => socket.destroy())
}

function brokeOff(options?: ErrorOptions): ClientGone {
  return new ClientGone('the request broke off', options)
}

function tooLarge(limit: number): DomainError {
  return new DomainError('TOO_LARGE', `the body is larger than the limit of ${limit} bytes`)
}
