/**
 * `fetch` for libraries, by our own request. What an issuer publishes is read as a whole and parsed at once by its library, so bytes and values are
 * limited before the library gets it. What is no JSON is an empty answer for it: it would create the values before it sees the mistake.
 */
import { Readable } from 'node:stream'
import { NotJson, readAnswer } from './json.ts'
import { AnswerError, openAnswer, readBytes } from './request.ts'

/** Bytes. Key sets of large issuers have some tens of KiB. */
const largest = 1 << 20
/** A person may be in hundreds of groups. A key has some ten values. */
const limits = { most: 20_000, longestText: 256 << 10 }
/** Statuses of a response without a body, in `Response`. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

type FetchOptions = Omit<RequestInit, 'body'> & { readonly body?: unknown }
/** Node's own would follow redirects, decompress, and accept interim responses without end. */
export type Fetch = (url: string, options?: FetchOptions) => Promise<Response>

/** Its body is read by the caller. */
export const fetchOpen: Fetch = async (url, { method = 'GET', headers, body, signal } = {}) => {
  const sent = body === undefined || body === null || body instanceof Uint8Array ? (body ?? undefined) : String(body)
  const options = { method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) }
  const answer = await openAnswer(new URL(url), options, sent)
  const { statusCode: status = 0 } = answer
  if (status < 200 || status > 599) {
    answer.destroy()
    throw new AnswerError(`it answers with the status ${status}`)
  }
  const received = new Headers()
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2)
    received.append(answer.rawHeaders[at] ?? '', answer.rawHeaders[at + 1] ?? '')
  if (!withoutBody.has(status))
    return new Response(Readable.toWeb(answer) as ReadableStream, { status, headers: received })
  answer.resume()
  return new Response(null, { status, headers: received })
}

export const fetchBounded: Fetch = async (url, options) => {
  const { body, status, headers } = await fetchOpen(url, options)
  if (body === null) return new Response(null, { status, headers })
  const { bytes, isWhole } = await readBytes(body, largest)
  if (!isWhole) throw new AnswerError(`it answers with more than ${largest} bytes`)
  return new Response((await isJson(bytes)) ? new Uint8Array(bytes) : '', { status, headers })
}

async function isJson(bytes: Uint8Array): Promise<boolean> {
  try {
    await readAnswer(bytes, limits)
    return true
  } catch (error) {
    if (error instanceof NotJson) return false
    throw error
  }
}
