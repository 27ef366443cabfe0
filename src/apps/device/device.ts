/**
 * A device's side of reporting: `report` puts a report on the disk and returns. It is sent in order, until the server has it: alone, or with the others
 * that wait (POST /reports). Only a 2xx of Rollcall ends it, or a refusal that says the report itself is wrong, which is kept in `rejected`.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { type Entry, openJournal } from './journal.ts'

export { QueueFull } from './journal.ts'

export interface Report {
  readonly deploymentId: string
  readonly status: { readonly state: string; readonly error?: object | null }
  readonly components: readonly { readonly name: string; readonly state: string; readonly error?: object | null }[]
  /** Any other member of a body. */
  readonly [member: string]: unknown
}

export interface DeviceOptions {
  /** Of the server. */
  readonly url: string
  readonly deviceId: string
  /** Of the queue. One process at a time may use it. */
  readonly folder: string
  /** Bytes of reports that may wait. */
  readonly maxBytes?: number
  /** Headers of each attempt: a token, or a signature. */
  readonly headers?: (url: string, body: string) => Record<string, string> | Promise<Record<string, string>>
  /** Of https: an authority, and a client certificate. */
  readonly tls?: Pick<RequestOptions, 'ca' | 'cert' | 'key'>
  /** A report that the server will never take, and its answer. */
  readonly rejected?: (report: Report, answer: string) => void
  /** Why reports wait, and null when they do no more. */
  readonly interrupted?: (reason: string | null) => void
}

export interface Device {
  /** Returns its number when it is on the disk. Throws if it is too large, or the queue (`QueueFull`) or the disk is full: then it is not queued. */
  report(report: Report): number
  /** The number of reports that wait. */
  pending(): number
  /** Resolves when none waits. */
  idle(): Promise<void>
  /** Ends sending. What waits is sent after the next start. */
  close(): Promise<void>
}

interface Answer {
  readonly status: number
  readonly retryAfter: number
  readonly text: string
}

interface Failure {
  readonly reason: string
  /** Seconds. */
  readonly retryAfter: number
}

/** The server's limit of one report. */
const largestReport = 1 << 20
const largestBatch = { reports: 500, bytes: 1 << 20 }
const largestAnswer = 8 << 20
/** Seconds. */
const [shortest, longest, longestAsked] = [1, 60, 3_600]
/** Milliseconds for one request. */
const patience = 60_000

export function openDevice(options: DeviceOptions): Device {
  const { deviceId, folder, maxBytes = 8 << 20, headers, tls, rejected, interrupted } = options
  const base = options.url.replace(/\/+$/, '')
  const journal = openJournal(folder, maxBytes)
  const stop = new AbortController()
  let changed = Promise.withResolvers<void>()
  let isInterrupted = false
  const working = work()

  function noteChange(): void {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  async function work(): Promise<void> {
    let most = 1
    let bound = shortest
    while (!stop.signal.aborted) {
      const batch = nextBatch(most)
      if (batch.length === 0) {
        await changed.promise
        continue
      }
      const failure = await send(batch).catch((error: unknown): Failure => ({ reason: String(error), retryAfter: 0 }))
      noteChange()
      if (stop.signal.aborted) return
      if (failure || isInterrupted) interrupted?.(failure?.reason ?? null)
      isInterrupted = failure !== null
      // Fewer pass a slow line, or the limit of a proxy.
      most = failure ? Math.ceil(batch.length / 2) : Math.min(most * 2, largestBatch.reports)
      if (failure) await wait((failure.retryAfter + Math.random() * bound) * 1_000, null, stop).catch(() => undefined)
      bound = failure ? Math.min(bound * 2, longest) : shortest
    }
  }

  function nextBatch(most: number): readonly Entry[] {
    const batch: Entry[] = []
    let bytes = 0
    for (const entry of journal.waiting().slice(0, most)) {
      bytes += entry.size
      if (batch.length > 0 && bytes > largestBatch.bytes) break
      batch.push(entry)
    }
    return batch
  }

  /** Null: the server has all of them. */
  async function send(batch: readonly Entry[]): Promise<Failure | null> {
    const [first] = batch
    const isAlone = batch.length === 1
    const path = isAlone ? `/device/${encodeURIComponent(deviceId)}/deployment/${first?.deployment}/status` : '/reports'
    const body = batch.map((entry) => entry.body).join('\n')
    const { status, text, retryAfter } = await post(
      `${base}${path}`,
      body,
      isAlone ? 'application/json' : 'application/x-ndjson',
    )
    const results = isAlone ? [{ status, text }] : resultsOf(status, text)
    const refused: [Entry, string][] = []
    for (const [index, entry] of batch.entries()) {
      const result = results.length === batch.length ? results[index] : undefined
      if (status < 300 && /"verdict":"(?!REFUSED)/.test(result?.text ?? '')) continue
      if (!result || !isWrong(result)) {
        end(index)
        return { reason: `${status}: ${(result?.text ?? text).slice(0, 500)}`, retryAfter }
      }
      journal.putAside(entry.body, result.text)
      refused.push([entry, result.text])
    }
    end(batch.length)
    return null

    function end(count: number): void {
      journal.done(count)
      for (const [entry, answer] of refused) rejected?.(JSON.parse(entry.body), answer)
    }
  }

  async function post(url: string, body: string, type: string): Promise<Answer> {
    const own = { 'content-type': type, 'content-length': Buffer.byteLength(body), ...(await headers?.(url, body)) }
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(patience)])
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = url.startsWith('https:') ? requestHttps : requestHttp
      request(url, { method: 'POST', headers: own, ...tls, signal }, resolve)
        .on('error', reject)
        .end(body)
    })
    let text = ''
    for await (const part of response.setEncoding('utf8')) {
      text += part
      if (text.length > largestAnswer) throw new Error('the answer is too large')
    }
    const retryAfter = Math.min(Number(response.headers['retry-after']) || 0, longestAsked)
    return { status: response.statusCode ?? 0, retryAfter, text }
  }

  return {
    report(report) {
      const { deploymentId } = report
      if (!deploymentId || /^\.\.?$/.test(deploymentId)) throw new TypeError(`deploymentId cannot be "${deploymentId}"`)
      const now = new Date()
      // The clock of a device says 1970 until it is set.
      const time = now.getUTCFullYear() > 2024 ? { observedAt: now.toISOString() } : {}
      const own = report.rollcall as object | undefined
      const seq = journal.append(encodeURIComponent(deploymentId), (seq) => {
        const body = { ...report, reporter: deviceId, rollcall: { ...time, ...own, boot: journal.boot, seq } }
        const text = JSON.stringify(body)
        if (Buffer.byteLength(text) <= largestReport) return text
        throw new RangeError(`the report is larger than ${largestReport} bytes`)
      })
      noteChange()
      return seq
    },
    pending: () => journal.waiting().length,
    async idle() {
      while (journal.waiting().length > 0 && !stop.signal.aborted) await changed.promise
    },
    async close() {
      stop.abort()
      noteChange()
      await working
      journal.close()
    },
  }
}

/** The refusal names what is wrong with the report. A proxy, a wrong URL or a credential has no such list. */
function isWrong({ status, text }: Pick<Answer, 'status' | 'text'>): boolean {
  return [400, 413, 422].includes(status) && text.includes('"errors":[')
}

function resultsOf(status: number, text: string): readonly Pick<Answer, 'status' | 'text'>[] {
  if (status !== 200) return []
  const { results = [] } = JSON.parse(text) as { readonly results?: readonly { readonly status?: number }[] }
  return results.map((result) => ({ status: result.status ?? 0, text: JSON.stringify(result) }))
}
