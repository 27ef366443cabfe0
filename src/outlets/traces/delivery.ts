/**
 * Sends spans in requests of bounded size. OTLP forbids sending again what the collector refuses as malformed or too large: one such span would hold
 * up all later ones. So a refused request is sent in halves, until the spans that the collector refuses are alone, and those are left out. If it
 * refuses everything, it is not a collector, or not configured: then nothing is left out.
 */
import type { Log } from '../../platform/log/log.ts'
import type { Exporter } from './exporter.ts'
import type { Span } from './spans.ts'

/** Spans in one request. */
const most = 500
/** Spans that are tried alone before it is clear that the collector refuses everything. */
const tried = 20
/** Refused spans in a line of the log. */
const mostShown = 10

/** Throws if spans have to be sent again. */
export async function sendAll(
  exporter: Pick<Exporter, 'send'>,
  log: Pick<Log, 'warn'>,
  spans: readonly Span[],
): Promise<void> {
  const refused: Span[] = []
  let refusal: unknown = null
  let isAccepting = false

  async function send(some: readonly Span[]): Promise<void> {
    try {
      await exporter.send(some)
      isAccepting = true
    } catch (error) {
      if (!isRefusal(error) || (!isAccepting && refused.length >= tried)) throw error
      refusal = error
      const half = Math.ceil(some.length / 2)
      if (some.length === 1) refused.push(...some)
      else for (const part of [some.slice(0, half), some.slice(half)]) await send(part)
    }
  }

  for (let from = 0; from < spans.length; from += most) await send(spans.slice(from, from + most))
  if (refused.length === 0) return
  if (!isAccepting) throw refusal
  const shown = refused.slice(0, mostShown).map(({ traceId, spanId }) => ({ traceId, spanId }))
  log.warn(
    { count: refused.length, spans: shown, error: refusal },
    'the collector refuses some spans: they are left out',
  )
}

/** HTTP 400 and 413. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 400 || error.code === 413)
}
