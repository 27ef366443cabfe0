/** Sends spans to a collector: OTLP over HTTP, in protobuf. */
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Millis } from '../domain/values.ts'
import type { TracesConfig } from './config.ts'
import type { Span } from './spans.ts'

export interface Exporter {
  /** Throws if the collector does not accept them. */
  send(spans: readonly Span[]): Promise<void>
  close(): Promise<void>
}

export function openExporter({ url, headers, service }: TracesConfig) {
  return {
    exporter: new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: 10_000 }),
    resource: resourceFromAttributes({ 'service.name': service }),
  }
}

export function createExporter(config: TracesConfig): Exporter {
  const { exporter, resource } = openExporter(config)
  return {
    send: (spans) =>
      new Promise((resolve, reject) =>
        exporter.export(
          spans.map((span) => readable(span, resource)),
          ({ code, error }) => (code === 0 ? resolve() : reject(error ?? new Error('the collector refused the spans'))),
        ),
      ),
    close: () => exporter.shutdown(),
  }
}

function readable(span: Span, resource: ReadableSpan['resource']): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, start, end, failure, isDone, attributes, events, links } = span
  const contextOf = (id: string) => ({ traceId, spanId: id, traceFlags: TraceFlags.SAMPLED })
  const code = failure !== null ? SpanStatusCode.ERROR : isDone ? SpanStatusCode.OK : SpanStatusCode.UNSET
  return {
    ...{ name, kind: SpanKind.INTERNAL, resource, attributes: { ...attributes } },
    spanContext: () => contextOf(spanId),
    ...(parentSpanId !== null && { parentSpanContext: contextOf(parentSpanId) }),
    startTime: timeOf(start),
    endTime: timeOf(end),
    duration: timeOf(end - start),
    ended: true,
    status: { code, ...(failure !== null && { message: failure }) },
    events: events.map((event) => ({
      name: event.name,
      time: timeOf(event.at),
      attributes: { ...event.attributes },
      droppedAttributesCount: 0,
    })),
    links: links.map(({ traceId: other, spanId: id, isSampled }) => ({
      context: {
        traceId: other,
        spanId: id,
        traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
        isRemote: true,
      },
    })),
    instrumentationScope: { name: 'rollcall' },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }
}

/** Seconds and nanoseconds. */
const timeOf = (at: Millis): [number, number] => [Math.floor(at / 1_000), (at % 1_000) * 1_000_000]
