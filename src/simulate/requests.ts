/** Sends with retries: no answer, 429 and 5xx are retried with growing delays; anything else is the answer. */
import { setTimeout as delay } from 'node:timers/promises'

export interface SimulatedRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly body?: string
  readonly token: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answered {
  readonly response: Response
  /** An earlier try had no answer. */
  readonly isRepeat: boolean
}

export interface RetryOptions {
  /** A try ended without an answer, or with "not now". */
  readonly tryFailed: (why: 'unanswered' | 'told to wait') => void
  readonly signal: AbortSignal
}

/** Margo's agents give up after ten seconds. */
const requestTimeout = 10_000
const longestWait = 30_000

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
    // A 503 may come after a part of a backlog has been written.
    isRepeat ||= response?.status !== 429
    tryFailed(response ? 'told to wait' : 'unanswered')
    await delay(waitBefore(tries, response), undefined, { signal }).catch(() => undefined)
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
    // An answer is one only when all of it is there.
    const bytes = await response.arrayBuffer()
    return new Response(bytes.byteLength === 0 ? null : bytes, response)
  } catch {
    return null
  }
}

function waitBefore(tries: number, response: Response | null): number {
  const told = Number(response?.headers.get('retry-after') ?? 0) * 1_000
  const own = Math.min(500 * 2 ** (tries - 1), longestWait) * (0.5 + Math.random() / 2)
  return Math.max(told, own)
}
