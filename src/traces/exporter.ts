/** Sends spans to a collector: OTLP over HTTP, in protobuf. */
import { Agent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Millis } from '../domain/values.ts'
import type { TracesConfig } from './config.ts'
import type { Span } from './spans.ts'

export interface Exporter {
  /** Throws if the collector does not accept them. */
  send(spans: readonly Span[]): Promise<void>
  close(): Promise<void>
}

/** Milliseconds. The library has a limit of its own, but waits without end for an answer that does not end, or that changes the protocol. */
const longestAnswer = 15_000

/** `patience`: milliseconds for one request to the collector. */
export function openExporter({ url, headers, service }: TracesConfig, patience = longestAnswer) {
  let present = open(url, headers)
  const exporter: Pick<SpanExporter, 'export' | 'shutdown'> = {
    export(spans, done) {
      const own = present
      let isDone = false
      const fail = (): void => {
        isDone = true
        done({ code: 1, error: new Error(`no answer of the collector within ${patience / 1_000} s`) })
      }
      const late = setTimeout(() => {
        // The library would count a request that does not end among the few that it sends at a time.
        if (present === own) present = open(url, headers)
        own.cutOff()
        fail()
      }, patience).unref()
      own.exporter.export(spans, (result) => {
        clearTimeout(late)
        // The library takes an answer that was cut off for a complete one.
        if (!isDone) own.isCutOff() ? fail() : done(result)
      })
    },
    shutdown: () => present.exporter.shutdown(),
  }
  return { exporter, resource: resourceFromAttributes({ 'service.name': service }) }
}

function open(url: string, headers: TracesConfig['headers']) {
  const agents: Agent[] = []
  let isCut = false
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: 10_000,
    httpAgentOptions(protocol) {
      const agent = new (protocol === 'https:' ? HttpsAgent : Agent)({ keepAlive: true })
      agents.push(agent)
      return agent
    },
  })
  /** Closes the connections of its requests, which the library does not do. */
  const cutOff = (): void => {
    isCut = true
    for (const agent of agents) agent.destroy()
  }
  return { exporter, cutOff, isCutOff: () => isCut }
}

export function createExporter(config: TracesConfig, patience?: number): Exporter {
  const { exporter, resource } = openExporter(config, patience)
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
