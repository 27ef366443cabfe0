/**
 * Bytes of HTTP responses that their clients have not read. Above the budget, of all connections or of one address, the connection whose
 * response has been unread for the longest time is closed, so those who read receive theirs. A complete response must also be read in time.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Hop } from './address.ts'
import { shareOfOne, uncounted } from './held-bytes.ts'
import type { Refuse } from './limits.ts'

/** Bytes of a response for which its client has the reading time. */
const pacedBytes = 1 << 20

/** Bytes in memory. Responses with the same buffer hold it together: a cached response, or a page. */
interface Unread {
  readonly network: string
  bytes: number
  readonly holders: Set<ServerResponse>
}

/**
 * Returns the class for the option `ServerResponse` of an HTTP server. `total`: bytes. `readingTime`: milliseconds in which each MiB of a
 * complete response must be read.
 */
export function createUnread(
  total: number,
  readingTime: number,
  refuse: Refuse,
  networkOf: (request: Hop) => string,
): typeof ServerResponse {
  /** The first has been unread for the longest time. */
  const responses = new Map<ServerResponse, Unread>()
  const ofBuffer = new WeakMap<Buffer, Unread>()
  const ofNetwork = new Map<string, number>()
  let ofAll = 0

  function set(one: Unread, bytes: number): void {
    const own = (ofNetwork.get(one.network) ?? 0) + bytes - one.bytes
    ofAll += bytes - one.bytes
    one.bytes = bytes
    if (own > 0) ofNetwork.set(one.network, own)
    else ofNetwork.delete(one.network)
  }

  function hold(response: ServerResponse, body: unknown): Unread {
    const shared = body instanceof Buffer ? ofBuffer.get(body) : undefined
    const isHeld = shared !== undefined && shared.holders.size > 0
    const one = isHeld ? shared : { network: networkOf(response.req), bytes: 0, holders: new Set<ServerResponse>() }
    if (body instanceof Buffer) ofBuffer.set(body, one)
    one.holders.add(response)
    responses.set(response, one)
    response.once('close', () => release(response))
    return one
  }

  function release(response: ServerResponse): void {
    const one = responses.get(response)
    responses.delete(response)
    if (one?.holders.delete(response) && one.holders.size === 0) set(one, 0)
  }

  function cut(response: ServerResponse): void {
    refuse('unread', 'the connection was closed')
    release(response)
    response.req.socket.destroy()
  }

  function count(response: ServerResponse, body: unknown): void {
    if (response.req.socket.destroyed) return
    const counted = responses.get(response) ?? hold(response, body)
    set(counted, response.writableLength)
    const { network } = counted
    for (const [oldest, one] of responses) {
      const isNetworkFull = (ofNetwork.get(network) ?? 0) > total * shareOfOne
      // A single response is sent, however large it is: most clients read.
      if ((!isNetworkFull && ofAll <= total) || oldest === response) return
      if (!isNetworkFull || one.network === network) cut(oldest)
    }
  }

  class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    override write(...given: readonly unknown[]): boolean {
      const isTaken = super.write(...(given as [unknown]))
      if (!isTaken) count(this, null)
      return isTaken
    }

    override end(...given: readonly unknown[]): this {
      super.end(...(given as [unknown]))
      const size = this.writableLength
      if (size <= uncounted) return this
      count(this, given[0])
      const late = setTimeout(() => cut(this), readingTime * Math.ceil(size / pacedBytes)).unref()
      this.once('close', () => clearTimeout(late))
      return this
    }
  }
  return CountedResponse
}
