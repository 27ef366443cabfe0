/**
 * The class of all servers' responses: it counts the bytes that clients have not read. A complete response has a reading time, and drops the body of
 * its request if nothing of it was read.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Hop } from './address.ts'
import type { Bodies } from './bodies.ts'
import { uncounted } from './held-bytes.ts'
import type { TrackUnread, Unread } from './unread.ts'

/** For the option `ServerResponse` of an HTTP server. */
export function createCountedResponse(
  track: TrackUnread,
  dropBody: Bodies['drop'],
  networkOf: (request: Hop) => string,
): typeof ServerResponse {
  class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    #unread: Unread | null = null

    override write(...given: readonly unknown[]): boolean {
      const isTaken = super.write(...(given as [unknown]))
      if (!isTaken) this.#count(this)
      return isTaken
    }

    override end(...given: readonly unknown[]): this {
      if (!this.req.complete && this.req.readableFlowing === null) dropBody(this.req)
      super.end(...(given as [unknown]))
      const [body] = given
      const size = this.writableLength
      // A response without its socket waits for those before it on the connection. Many small ones may wait there.
      if (size > uncounted || this.socket === null)
        this.#count(this.#unread === null && body instanceof Buffer ? body : this)
      if (size <= uncounted) return this
      if (this.socket) this.#unread?.limitTime()
      else this.once('socket', () => this.#unread?.limitTime())
      return this
    }

    #count(object: object): void {
      if (this.req.socket.destroyed) return
      this.#unread ??= this.#track()
      this.#unread.hold(object, this.writableLength)
    }

    /** A stream that is read to its present end holds nothing. */
    #track(): Unread {
      const unread = track(networkOf(this.req), () => this.req.socket.destroy())
      this.on('drain', unread.releaseAll).once('close', unread.releaseAll)
      return unread
    }
  }
  return CountedResponse
}
