/**
 * Sends spans to a collector: OTLP over HTTP, in protobuf. OpenTelemetry's own sender was rejected: it keeps each piece of an answer, however small,
 * repeats a request as soon as the collector says, and waits without end for an answer that changes the protocol.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Millis } from '../../domain/values.ts'
import { openAnswer, readBytes } from '../../platform/outbound/request.ts'
import { type BackOff, pauseAfter } from '../../platform/timing/back-off.ts'
import type { TracesConfig } from './config.ts'
import type { Span } from './spans.ts'

export interface Exporter {
  /** Throws if the collector does not accept them. */
  send(spans: readonly Span[]): Promise<void>
  close(): Promise<void>
}

/** Milliseconds for one request to the collector, with its repetitions. */
const longestAnswer = 10_000
const backOff: BackOff = { first: 1_000, longest: 5_000 }
/** Bytes. What a collector answers says nothing that matters here. */
const largestAnswer = 64 << 10

class CollectorError extends Error {
  /** The HTTP status. */
  readonly code: number

  constructor(code: number) {
    super(`the collector answers ${code}`)
    this.code = code
  }
}

/** `patience`: milliseconds for one request to the collector. */
export function openExporter({ url, headers, service }: TracesConfig, patience: Millis = longestAnswer) {
  const leaving = new AbortController()
  const address = new URL(url)

  async function post(body: Uint8Array, signal: AbortSignal): Promise<void> {
    const length = { 'content-type': 'application/x-protobuf', 'content-length': String(body.length) }
    const answer = await openAnswer(address, { method: 'POST', headers: { ...headers, ...length }, signal }, body)
    await readBytes(answer, largestAnswer)
    const { statusCode = 0 } = answer
    if (statusCode < 200 || statusCode > 299) throw new CollectorError(statusCode)
  }

  async function send(spans: readonly ReadableSpan[]): Promise<void> {
    const late = AbortSignal.timeout(patience)
    const signal = AbortSignal.any([leaving.signal, late])
    const body = ProtobufTraceSerializer.serializeRequest([...spans]) ?? new Uint8Array()
    for (let failures = 0; ; failures += 1) {
      try {
        return await post(body, signal)
      } catch (error) {
        if (late.aborted) throw new Error(`no answer of the collector within ${patience / 1_000} s`)
        if (!isWorthRepeating(error)) throw error
        // The last attempt has to end in time.
        await sleep(pauseAfter(backOff, failures), undefined, { signal }).catch(() => {
          throw error
        })
      }
    }
  }

  const exporter: Pick<SpanExporter, 'export' | 'shutdown'> = {
    export: (spans, done) =>
      void send(spans).then(
        () => done({ code: 0 }),
        (error: Error) => done({ code: 1, error }),
      ),
    shutdown: async () => leaving.abort(),
  }
  return { exporter, send, resource: resourceFromAttributes({ 'service.name': service }) }
}

/** What the specification of OTLP lists, and what the network does. */
function isWorthRepeating(error: unknown): boolean {
  if (error instanceof CollectorError) return [429, 502, 503, 504].includes(error.code)
  return error instanceof Error && 'syscall' in error
}

export function createExporter(config: TracesConfig, patience?: Millis): Exporter {
  const { exporter, send, resource } = openExporter(config, patience)
  return {
    send: (spans) => send(spans.map((span) => readable(span, resource))),
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
