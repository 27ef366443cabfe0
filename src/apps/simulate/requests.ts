/** Sends with retries. After no answer, 429 or 5xx it retries with growing delays; it returns any other answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readBytes } from '../client/request.ts'

interface SimulatedRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly body?: string
  readonly token: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

interface Answered {
  readonly response: Response
  /** An earlier attempt had no answer. */
  readonly isRepeat: boolean
}

export interface RetryOptions {
  /** An attempt ended without an answer, or with 429 or 5xx. */
  readonly tryFailed: (why: 'unanswered' | 'rejected') => void
  readonly signal: AbortSignal
}

/** Margo's agents give up after ten seconds. */
const requestTimeout = 10_000
const longestWait = 30_000
/** Which the server may ask for. */
const longestRequested = 300_000

/** Null: the simulation ended first. */
export async function sendWithRetry(
  request: SimulatedRequest,
  { tryFailed, signal }: RetryOptions,
): Promise<Answered | null> {
  let isRepeat = false
  for (let tries = 1; !signal.aborted; tries += 1) {
    const response = await attempt(request, signal)
    if (response && response.status < 500 && response.status !== 429) return { response, isRepeat }
    if (signal.aborted) return null
    // A 503 may come after a part of a backlog has been stored.
    isRepeat ||= response?.status !== 429
    tryFailed(response ? 'rejected' : 'unanswered')
    await sleep(waitBefore(tries, response), undefined, { signal }).catch(() => undefined)
  }
  return null
}

async function attempt(
  { method, url, body, token, headers }: SimulatedRequest,
  signal: AbortSignal,
): Promise<Response | null> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: body ?? null,
      signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeout)]),
    })
    // Read the whole answer: a broken answer counts as none.
    const bytes = await readBytes(response)
    return new Response(bytes.byteLength === 0 ? null : bytes, response)
  } catch {
    return null
  }
}

/** Milliseconds. */
export function waitBefore(tries: number, response: Pick<Response, 'headers'> | null): number {
  // A timer of more than 24 days, or of no number, fires at once.
  const asked = Number(response?.headers.get('retry-after') ?? '')
  const requested = asked > 0 ? Math.min(asked * 1_000, longestRequested) : 0
  const own = Math.min(500 * 2 ** (tries - 1), longestWait) * (0.5 + Math.random() / 2)
  return Math.max(requested, own)
}
