/** W3C trace contexts as OpenTelemetry has them. */
import type { IncomingMessage } from 'node:http'
import { type Context, ROOT_CONTEXT, type SpanContext, TraceFlags, trace } from '@opentelemetry/api'
import { readTraceparent } from '../../platform/traceparent.ts'
import { traceContextOf } from './spans.ts'

/** The parent of the span of a request. A request without a valid header begins a trace. */
export function parentOf({ headers }: Pick<IncomingMessage, 'headers'>): Context {
  const traceparent = readTraceparent(headers.traceparent)
  return traceparent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remoteOf(traceparent))
}

/** Of a valid traceparent. */
export function remoteOf(traceparent: string): SpanContext {
  const { traceId, spanId, isSampled } = traceContextOf(traceparent)
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true }
}
