/** One HTTP request to a configured target. Its resolved address is checked, time and size are limited, and redirects are not followed. */
import { type LookupAllOptions, lookup } from 'node:dns'
import type { RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { foreignText } from '../../domain/text.ts'
import { type AnswerBytes, AnswerError, openAnswer, readBytes } from '../../platform/outbound/request.ts'
import type { AddressRule } from './address-rule.ts'

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Bytes of the answer that are read. Absent: 256 Ki. */
  readonly answerLimit?: number
}

export interface ReceivedAnswer extends AnswerBytes {
  readonly status: number
}

export type Send = (request: OutgoingRequest) => Promise<ReceivedAnswer>

/** The result of a request whose answer has no relevant content. */
export interface PostResult {
  /** Null: no answer. */
  readonly status: number | null
  /** Null: the receiver accepted the message. */
  readonly error: string | null
}

/** Never throws. */
export async function post(send: Send, request: OutgoingRequest): Promise<PostResult> {
  try {
    const { status } = await send(request)
    return { status, error: status < 200 || status >= 300 ? `answered ${status}` : null }
  } catch (cause) {
    return { status: null, error: cause instanceof Error ? foreignText(cause.message) : 'could not be reached' }
  }
}

/** An error of a target, for the operator who configured it. */
export class SendError extends Error {}

const usualAnswer = 256 * 1024

/** All addresses of a name. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  found: (error: Error | null, addresses: readonly { readonly address: string; readonly family: number }[]) => void,
) => void

/** `timeout`: milliseconds for the whole exchange. */
export function createSend(rule: AddressRule, timeout = 10_000, resolve: Resolve = lookup): Send {
  return async ({ method, url: text, headers, body, answerLimit = usualAnswer }) => {
    const refusal = rule.refuseUrl(text)
    if (refusal) throw new SendError(`the address ${refusal}`)
    const url = new URL(text)
    const options: RequestOptions = {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
      lookup: checkedLookup(rule, url.hostname, resolve),
      signal: AbortSignal.timeout(timeout),
      agent: false,
    }
    try {
      const answer = await openAnswer(url, options, body)
      return { status: answer.statusCode ?? 0, ...(await readBytes(answer, answerLimit)) }
    } catch (error) {
      // Also what Node throws at once, such as for a header with a character beyond Latin-1.
      throw toSendError(error as Error, timeout)
    }
  }
}

/** The connection uses the address that was checked, so a second lookup cannot give another one. */
function checkedLookup(rule: AddressRule, host: string, resolve: Resolve): LookupFunction {
  return (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0)
      const fine = addresses.filter(({ address }) => rule.allows(host, address))
      const [first] = fine
      if (!first || fine.length < addresses.length)
        return callback(new SendError(`${name} resolves to an internal address: SINK_ALLOW must name it`), '', 0)
      if (options.all) callback(null, [...fine])
      else callback(null, first.address, first.family ?? isIP(first.address))
    })
  }
}

function toSendError(error: Error & { code?: string }, timeout: number): Error {
  if (error instanceof SendError) return error
  if (error instanceof AnswerError) return new SendError(error.message)
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return new SendError(`no answer within ${timeout / 1000} s`)
  // Some errors of sockets have no message.
  return new SendError(foreignText(error.code ?? (error.message || error.name)))
}
