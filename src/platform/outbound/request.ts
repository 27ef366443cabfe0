/**
 * One HTTP request to another system, until its answer begins. The answer is an IncomingMessage, which the caller reads or destroys. Redirects are
 * not followed: the request may carry a credential. `fetch` was rejected: it accepts interim responses without end, and decompresses.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { gather } from '../limits/gather.ts'

/** What the other system does that HTTP does not allow, or that does not end. The message continues its name: "it changes the protocol". */
export class AnswerError extends Error {}

/** Of 1xx responses before the answer. Without a limit, a system could keep this server busy with them until the time-out. */
const mostInterim = 10

/** `options.signal` ends the request and the answer. */
export function openAnswer(url: URL, options: RequestOptions, body?: string | Uint8Array): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options)
    let answer: IncomingMessage | undefined
    request.on('response', (response) => {
      answer = response
      resolve(response)
    })
    let interim = 0
    request.on('information', function count() {
      interim += 1
      if (interim <= mostInterim) return
      // Node parses to its end what it has received, also for a destroyed request: a chunk may have thousands of interim responses.
      request.off('information', count)
      request.destroy(new AnswerError('it sends interim responses and no answer'))
    })
    // Without a listener, Node closes the connection after a 101 and reports no error: the promise would never settle.
    request.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(new AnswerError('it changes the protocol (101), which was not requested'))
    })
    request.on('error', (error) => {
      // Without it, the reader of the answer gets only ECONNRESET.
      answer?.destroy(error)
      reject(error)
    })
    request.end(body)
  })
}

/** The other system chooses the pieces: each costs time, however small. */
const [manyPieces, leastPiece] = [16_384, 16]

export interface AnswerBytes {
  readonly bytes: Buffer
  /** False: there was more than `most`. The rest is not read. */
  readonly isWhole: boolean
}

/** At most so many bytes of an answer. Leaving the rest closes the connection: an answer without end would cost processor time until the time-out. */
export async function readBytes(
  answer: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
): Promise<AnswerBytes> {
  const read = gather()
  let [size, pieces] = [0, 0]
  for await (const part of answer) {
    pieces += 1
    if (pieces > manyPieces && size < pieces * leastPiece) throw new AnswerError('it answers in too many small pieces')
    const piece = Buffer.from(part.buffer, part.byteOffset, Math.min(part.byteLength, most - size))
    read.add(piece)
    size += part.byteLength
    if (size > most) return { bytes: read.take(), isWhole: false }
  }
  return { bytes: read.take(), isWhole: true }
}
