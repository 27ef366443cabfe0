/** Batches of the writer as spans: each has links to the spans of the requests whose commands it wrote. A batch of no traced request has no span. */
import { type Link, ROOT_CONTEXT, type Span, type SpanContext, TraceFlags, type Tracer } from '@opentelemetry/api'
import type { Command } from '../../ingest/command.ts'
import { createWriter, type Writer } from '../../ingest/writer.ts'
import type { WriterOptions } from '../../ingest/writer-state.ts'
import { remoteOf } from './contexts.ts'
import { mostLinks } from './spans.ts'

type Written = Parameters<NonNullable<WriterOptions['observe']>>[0]

/** `present`: the span of the request that submits a command. */
export function createTracedWriter(tracer: Tracer, present: () => Span | undefined, options: WriterOptions): Writer {
  const spans = new WeakMap<Command<unknown>, SpanContext>()

  function trace({ batch: { waiting, handed }, size, seconds, revision }: Written): void {
    const commands = [...waiting.map(({ command }) => command), ...handed.flatMap((batch) => batch.commands)]
    const links = linksOf(commands.flatMap((command) => spans.get(command) ?? ownContextOf(command) ?? []))
    if (links.length === 0) return
    // OpenTelemetry takes such times too, and adds the time at which the process began.
    const endTime = performance.now()
    const attributes = { 'db.operation.batch.size': size, 'rollcall.revision': String(revision) }
    tracer
      .startSpan('write batch', { startTime: endTime - seconds * 1_000, root: true, links, attributes }, ROOT_CONTEXT)
      .end(endTime)
  }

  const writer = createWriter({
    ...options,
    observe(written) {
      options.observe?.(written)
      trace(written)
    },
  })
  const submit: Writer['submit'] = (command) => {
    const span = present()
    if (span?.isRecording()) spans.set(command as Command<unknown>, span.spanContext())
    return writer.submit(command)
  }
  // Some members of a writer are accessors, which a spread would read once.
  return Object.assign(Object.create(writer) as Writer, { submit })
}

/** A command from another server or by MQTT has only the context that its sender gave it. */
function ownContextOf({ traceparent }: Command<unknown>): SpanContext | null {
  const context = traceparent === undefined ? null : remoteOf(traceparent)
  return context?.traceFlags === TraceFlags.SAMPLED ? context : null
}

function linksOf(contexts: readonly SpanContext[]): Link[] {
  const distinct = new Map(contexts.map((context) => [context.spanId, context]))
  return [...distinct.values()].slice(0, mostLinks).map((context) => ({ context }))
}
