/** How a device sends: patiently. What is not answered, or answered with 429 or 5xx, is sent again, later and later; all else is an answer. */
import { setTimeout as delay } from 'node:timers/promises'
import { backlogItem, generationOf, type Report } from './bodies.ts'
import type { Verdict } from './expectation.ts'

export type SentReport =
  | { readonly verdict: Verdict; readonly revision: number }
  | { readonly verdict: 'REFUSED'; readonly reason: string }

export interface Sent {
  /** One for each report. */
  readonly results: readonly SentReport[]
  /** An earlier try had no answer. */
  readonly isRepeat: boolean
}

export interface SenderOptions {
  readonly url: string
  /** A device's own token; undefined: it has none. */
  readonly tokenOf: (reporter: string) => string | undefined
  /** Gets a token for a reporter that was refused without one. */
  readonly obtainToken: (reporter: string) => Promise<void>
  /** A try ended without an answer, or with "not now". */
  readonly tryFailed: (why: 'unanswered' | 'told to wait') => void
  readonly signal: AbortSignal
}

export interface Sender {
  /** Null: the simulation ended first. */
  send(reports: readonly Report[], isHeld: boolean): Promise<Sent | null>
}

/** Margo's agents give up after ten seconds. */
const patience = 10_000
const longestWait = 30_000

export function createSender({ url, tokenOf, obtainToken, tryFailed, signal }: SenderOptions): Sender {
  async function attempt(path: string, body: string, reporter: string): Promise<Response | null> {
    const token = tokenOf(reporter)
    try {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
      })
      // An answer is one only when all of it is there.
      return new Response(await response.arrayBuffer(), response)
    } catch {
      return null
    }
  }

  return {
    async send(reports, isHeld) {
      const [first] = reports
      if (!first) return { results: [], isRepeat: false }
      const { reporter } = first.deployment.device
      const generation = generationOf(first)
      const path = isHeld ? '/reports' : generation.path(first)
      const body = JSON.stringify(isHeld ? { reports: reports.map(backlogItem) } : generation.body(first))
      let isRepeat = false
      for (let tries = 1; !signal.aborted; tries += 1) {
        const response = await attempt(path, body, reporter)
        if (response?.status === 401 && tokenOf(reporter) === undefined) {
          await obtainToken(reporter)
          if (tokenOf(reporter) !== undefined) continue
        }
        if (response && response.status < 500 && response.status !== 429)
          return { results: await readAnswer(response, reports.length, isHeld), isRepeat }
        if (signal.aborted) return null
        // A 503 may come after a part of a backlog has been written.
        isRepeat ||= response?.status !== 429
        tryFailed(response ? 'told to wait' : 'unanswered')
        await delay(waitBefore(tries, response), undefined, { signal }).catch(() => undefined)
      }
      return null
    },
  }
}

function waitBefore(tries: number, response: Response | null): number {
  const told = Number(response?.headers.get('retry-after') ?? 0) * 1_000
  const own = Math.min(500 * 2 ** (tries - 1), longestWait) * (0.5 + Math.random() / 2)
  return Math.max(told, own)
}

interface Answer {
  readonly verdict?: Verdict | 'REFUSED'
  readonly revision?: string
  readonly error?: string
  readonly errors?: readonly { readonly field: string; readonly message: string }[]
  readonly results?: readonly Answer[]
}

async function readAnswer(response: Response, count: number, isHeld: boolean): Promise<readonly SentReport[]> {
  const answer = (await response.json().catch(() => ({}))) as Answer
  const refusal: SentReport = { verdict: 'REFUSED', reason: `HTTP ${response.status} ${answer.error ?? ''}`.trim() }
  const results = isHeld ? answer.results : [answer]
  if (!response.ok || results?.length !== count) return Array.from({ length: count }, () => refusal)
  return results.map(readResult)
}

function readResult({ verdict, revision, errors }: Answer): SentReport {
  if (verdict !== undefined && verdict !== 'REFUSED' && revision !== undefined)
    return { verdict, revision: Number(revision) }
  const reason = errors?.map(({ field, message }) => `${field} ${message}`).join(', ') ?? 'no verdict in the answer'
  return { verdict: 'REFUSED', reason }
}
