/** One HTTP request to a configured target. Its resolved address is checked, time and size are limited, and redirects are not followed. */
import { type LookupAllOptions, lookup } from 'node:dns'
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { AddressRule } from './address-rule.ts'

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Characters of the answer that are read. Absent: 256 Ki. */
  readonly answerLimit?: number
}

export interface ReceivedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** As far as `answerLimit`. */
  readonly body: string
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
    return { status: null, error: cause instanceof Error ? cause.message : 'could not be reached' }
  }
}

/** An error of a target, for the operator who configured it. */
export class SendError extends Error {}

const usualAnswer = 256 * 1024
/** Of 1xx responses before the answer. Without a limit, a receiver could keep this server busy with them until the timeout. */
const mostInterim = 10

/** All addresses of a name. */
export type Resolve = (
  name: string,
  options: LookupAllOptions,
  found: (error: Error | null, addresses: readonly { readonly address: string; readonly family: number }[]) => void,
) => void

/** `timeout`: milliseconds for the whole exchange. */
export function createSend(rule: AddressRule, timeout = 10_000, resolve: Resolve = lookup): Send {
  return ({ method, url: text, headers, body, answerLimit = usualAnswer }) => {
    const refusal = rule.refuseUrl(text)
    if (refusal) return Promise.reject(new SendError(`the address ${refusal}`))
    const url = new URL(text)
    const options: RequestOptions = {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
      lookup: checkedLookup(rule, url.hostname, resolve),
      signal: AbortSignal.timeout(timeout),
      agent: false,
    }
    return new Promise<ReceivedAnswer>((resolve, reject) => {
      const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (response) => {
        let received = ''
        response.setEncoding('utf8')
        const finish = (): void =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received })
        response.on('data', (chunk: string) => {
          received += chunk.slice(0, answerLimit - received.length)
          if (received.length < answerLimit) return
          // The rest of an answer without end would cost processor time until the timeout.
          finish()
          response.destroy()
        })
        response.on('end', finish)
        response.on('error', reject)
      })
      let interim = 0
      request.on('information', () => {
        interim += 1
        if (interim > mostInterim) request.destroy(new SendError('it sends interim responses and no answer'))
      })
      // Without a listener, node closes the connection after a 101 and reports no error: the promise would never settle.
      request.on('upgrade', (_, socket) => {
        socket.destroy()
        reject(new SendError('it changes the protocol (101), which was not requested'))
      })
      request.on('error', reject)
      request.end(body)
    }).catch((error: Error) => {
      // Also what Node throws at once, such as for a header with a character beyond Latin-1.
      throw toSendError(error, timeout)
    })
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
  if (error.name === 'TimeoutError' || error.name === 'AbortError')
    return new SendError(`no answer within ${timeout / 1000} s`)
  // Some errors of sockets have no message.
  return new SendError(error.code ?? (error.message || error.name))
}
