/** JSON that is sent in parts, so the memory is bounded for an answer of any size. */
import { createHash, type Hash } from 'node:crypto'
import { DomainError } from '../../domain/errors.ts'
import { drained, type Exchange } from './exchange.ts'

/** Sends a whole answer. */
type SendParts = (parts: AsyncGenerator<string>) => Promise<void>

/** Bytes that are written ahead of a slow client. Until then a snapshot need not wait for it: the embedded database has one connection, for reports, too. */
const mostAhead = 4 << 20

/**
 * Sends JSON in parts. It is called again if a standby was lost in the middle of an answer (with-snapshot.ts). The primary may have changed, so
 * the new answer is continued only if it begins with what was sent. Otherwise the error ends the connection.
 */
export function createStreamedJson({ response, method }: Exchange): SendParts {
  const sent = createHash('sha256')
  /** Characters. */
  let sentLength = 0

  return async (parts) => {
    const repeat = createRepeat(sentLength, sent)
    for await (const part of parts) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/json' })
      if (method === 'HEAD') break
      const next = repeat.rest(part)
      sent.update(next)
      sentLength += next.length
      if (!response.write(next) && response.writableLength >= mostAhead) await drained(response)
      if (response.destroyed) return
    }
    if (!repeat.isComplete()) throw changed()
    response.end()
  }
}

/** Compares the beginning of an answer with the text that was sent: its length, and its hash at this moment. */
function createRepeat(length: number, sent: Hash) {
  const expected = sent.copy().digest()
  const repeated = createHash('sha256')
  let left = length
  return {
    /** What has not been sent of the next part. Throws if what was sent differs. */
    rest(part: string): string {
      const known = part.slice(0, left)
      if (known === '') return part
      left -= known.length
      repeated.update(known)
      if (left === 0 && !repeated.digest().equals(expected)) throw changed()
      return part.slice(known.length)
    },
    isComplete: () => left === 0,
  }
}

function changed(): DomainError {
  return new DomainError('UNAVAILABLE', 'the answer changed while it was sent: send the request again')
}
