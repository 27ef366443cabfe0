/** Requests that are sent on one connection before the earlier ones have their responses. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { safeHeaders } from './guard.ts'

/** Requests of a connection that wait for their responses. Browsers and proxies send one after the other. */
const longestPipeline = 32
/** Further requests of it that are dropped. Those of one packet are begun before its connection can be closed. */
const mostDropped = 1_000

interface Pipelines {
  /** Call it with each request of the server. False: it is one too many. */
  begin(request: IncomingMessage, response: ServerResponse): boolean
  /** Whether a request of this connection waits for its response. */
  isBusy(socket: Socket): boolean
  /**
   * Call it when a request of this connection is broken. Calls `refuse` when the requests before it have their responses: the client would take a
   * refusal before these for the response to the first of them. If the broken request has a response, the connection is closed without a second one.
   */
  refuseInTurn(socket: Duplex, refuse: () => void): void
}

/**
 * Node begins all requests of a packet in one turn. The first one too many gets a 429, and its connection is closed after that. Until then Node reads
 * on, and keeps 2 KB for each request: an event stream may be before the 429. So many further ones close the connection at once.
 */
export function limitPipelines(): Pipelines {
  const ofSocket = new WeakMap<Duplex, Set<ServerResponse>>()
  const dropped = new WeakMap<Socket, number>()
  const broken = new WeakSet<Duplex>()
  function waitingOn(socket: Socket): Set<ServerResponse> {
    const known = ofSocket.get(socket)
    if (known) return known
    const waiting = new Set<ServerResponse>()
    ofSocket.set(socket, waiting)
    if (socket.allowHalfOpen) socket.once('end', () => findGone(socket, waiting))
    return waiting
  }
  return {
    begin(request, response) {
      const { socket } = request
      const waiting = waitingOn(socket)
      if (waiting.size > longestPipeline) {
        const before = dropped.get(socket) ?? 0
        dropped.set(socket, before + 1)
        if (before === mostDropped) socket.destroy()
        return false
      }
      waiting.add(response)
      if (waiting.size > longestPipeline) {
        response.writeHead(429, { ...safeHeaders, connection: 'close', 'content-length': 0 }).end()
        return false
      }
      const leave = (): void => void waiting.delete(response)
      response.once('close', () => (request.complete || request.closed ? leave() : request.once('close', leave)))
      return true
    },
    isBusy: (socket) =>
      ofSocket
        .get(socket)
        ?.values()
        .some(({ writableFinished }) => !writableFinished) ?? false,
    refuseInTurn(socket, refuse) {
      // Node reports the same error again for each further packet.
      if (broken.has(socket)) return
      broken.add(socket)
      const waiting = ofSocket.get(socket) ?? new Set()
      const next = (): void => {
        // The broken request may be among them: the rest of its body is missing.
        const before = [...waiting].find(
          ({ req, writableEnded, writableFinished }) => !writableFinished && (req.complete || writableEnded),
        )
        if (before) before.once('close', next)
        else if ([...waiting].some(({ req, headersSent }) => !req.complete && headersSent))
          socket.end(() => socket.destroy())
        else refuse()
      }
      next()
    },
  }
}

/** Milliseconds. */
const betweenInterims = 250

/**
 * The client sends no more. It may wait for its responses (`nc -N`) or be gone: both look the same. An interim response, which each client of
 * HTTP/1.1 ignores (RFC 9110 §15.2), is refused by the system of a client that is gone. The next one then fails, and that ends the connection and
 * all work for it. A client that stops in the midst of a response is taken to be gone: nothing can be written in between.
 */
function findGone(socket: Socket, [first]: ReadonlySet<ServerResponse>): void {
  if (!first || first.writableEnded) return
  if (first.headersSent || first.req.httpVersion === '1.0') return void socket.destroy()
  const ask = (): void => (first.headersSent ? clearInterval(asking) : first.writeContinue())
  const asking = setInterval(ask, betweenInterims).unref()
  first.once('close', () => clearInterval(asking))
  ask()
}
