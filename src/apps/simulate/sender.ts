/** How a device sends: with retries, on its generation's route; reports that waited are sent as one backlog. */
import { backlogItem, generationOf, type Report } from './bodies.ts'
import type { Verdict } from './records.ts'
import { type RetryOptions, sendWithRetry } from './requests.ts'

export type SentReport =
  | { readonly verdict: Verdict; readonly revision: number }
  | { readonly verdict: 'REFUSED'; readonly reason: string }

export interface Sent {
  /** One for each report. */
  readonly results: readonly SentReport[]
  /** An earlier attempt had no answer. */
  readonly isRepeat: boolean
}

export interface SenderOptions extends RetryOptions {
  readonly url: string
  /** The device's own token. Undefined: it has none. */
  readonly tokenOf: (reporter: string) => string | undefined
  /** Gets a token for a reporter that was refused without one. */
  readonly obtainToken: (reporter: string) => Promise<void>
}

export interface Sender {
  /** Null: the simulation ended first. */
  send(reports: readonly Report[], isHeld: boolean): Promise<Sent | null>
}

export function createSender({ url, tokenOf, obtainToken, ...retryOptions }: SenderOptions): Sender {
  return {
    async send(reports, isHeld) {
      const [first] = reports
      if (!first) return { results: [], isRepeat: false }
      const { reporter } = first.deployment.device
      const generation = generationOf(first)
      const path = isHeld ? '/reports' : generation.path(first)
      const body = JSON.stringify(isHeld ? { reports: reports.map(backlogItem) } : generation.body(first))
      let isRepeat = false
      for (;;) {
        const token = tokenOf(reporter)
        const answered = await sendWithRetry({ method: 'POST', url: `${url}${path}`, body, token }, retryOptions)
        if (!answered) return null
        isRepeat ||= answered.isRepeat
        if (answered.response.status === 401 && token === undefined) {
          await obtainToken(reporter)
          if (tokenOf(reporter) !== undefined) continue
        }
        return { results: await readAnswer(answered.response, reports.length, isHeld), isRepeat }
      }
    },
  }
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
