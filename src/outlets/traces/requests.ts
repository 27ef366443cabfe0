/**
 * Rollcall's own work as traces: each request, each operation on a socket, and each batch of the writer is a span. Loaded only where it is configured.
 *
 *   request ─ AsyncLocalStorage ─▶ its route, its operation
 *                              └─▶ writer.submit: the command remembers the span ─ COMMIT ─▶ the batch: a span with links to those of its commands
 *
 * A span has no path, no variables, no text of a document and no name of a caller: paths hold names of devices, and the others may hold secrets.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type Attributes, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import { getOperationAST } from 'graphql'
import { Counter } from 'prom-client'
import type { Writer } from '../../ingest/writer.ts'
import type { WriterOptions } from '../../ingest/writer-state.ts'
import type { Log } from '../../platform/log/log.ts'
import type { TraceOperation } from '../../platform/traced.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { createTracedWriter } from './batches.ts'
import type { TracesConfig } from './config.ts'
import { parentOf } from './contexts.ts'
import { openExporter } from './exporter.ts'
import { createSpanQueue } from './span-queue.ts'

export interface RequestTracesOptions {
  readonly config: TracesConfig
  readonly metrics: Pick<Metrics, 'registry'>
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Milliseconds between requests to the collector. */
  readonly interval?: number | undefined
}

interface RequestTraces {
  /** Makes a span of each request. */
  watch(server: Pick<Server, 'prependListener'>): void
  /** Notes the route of the present request. */
  readonly routed: (template: string) => void
  readonly traced: TraceOperation
  /** A writer whose batches have spans. */
  readonly createWriter: (options: WriterOptions) => Writer
  stop(): Promise<void>
}

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Characters. */
const longestName = 100

export function createRequestTraces({ config, metrics, log, interval }: RequestTracesOptions): RequestTraces {
  const counter = new Counter({
    name: 'rollcall_request_spans_total',
    help: 'Spans of requests and batches, by what became of them: sent to the collector, or dropped.',
    labelNames: ['outcome'],
    registers: [metrics.registry],
  })
  let isFailing = false
  const { exporter, resource } = openExporter(config)
  const queue = createSpanQueue({
    exporter,
    ...(interval && { interval }),
    sent(count) {
      if (isFailing) log.info('the collector accepts spans of requests again')
      isFailing = false
      counter.inc({ outcome: 'sent' }, count)
    },
    dropped(count, error) {
      counter.inc({ outcome: 'dropped' }, count)
      if (!isFailing) log.warn({ error }, 'spans of requests are dropped: the collector does not accept them')
      isFailing = true
    },
  })
  const tracerOf = (sampler: ParentBasedSampler | AlwaysOnSampler) =>
    new BasicTracerProvider({ resource, sampler, spanProcessors: [queue.processor] }).getTracer('rollcall')
  // Where the caller has decided about the trace, its decision holds.
  const requests = tracerOf(new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(config.requests ?? 0) }))
  // A batch is traced if one of its requests is.
  const batches = tracerOf(new AlwaysOnSampler())
  const current = new AsyncLocalStorage<Span | undefined>()
  /** Of requests without a complete response. */
  const open = new Set<() => void>()

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', socket } = request
    const known = methods.has(method) ? method : '_OTHER'
    const attributes = { 'http.request.method': known, 'url.scheme': 'encrypted' in socket ? 'https' : 'http' }
    const span = requests.startSpan(nameOf(known), { kind: SpanKind.SERVER, attributes }, parentOf(request))
    current.enterWith(span)
    if (!span.isRecording()) return
    if (/^\/graphql(\?|$)/.test(url)) routed('/graphql')
    const end = (): void => {
      if (!open.delete(end)) return
      const { statusCode, headersSent } = response
      if (headersSent) span.setAttribute('http.response.status_code', statusCode)
      if (headersSent && statusCode >= 500) fail(span, String(statusCode))
      span.end()
    }
    open.add(end)
    response.once('close', end)
  }

  function routed(template: string): void {
    const span = current.getStore()
    if (!span?.isRecording()) return
    span.setAttribute('http.route', template)
    if ('attributes' in span) span.updateName(nameOf((span.attributes as Attributes)['http.request.method'], template))
  }

  const traced: TraceOperation = async (operation, request, work) => {
    const present = current.getStore()
    if (present && !present.isRecording()) return work()
    const { document, operationName } = operation
    const found = getOperationAST(document, operationName)
    const kind = found?.operation ?? 'unknown'
    const attributes: Attributes = {
      'graphql.operation.type': kind,
      ...(found?.name && { 'graphql.operation.name': found.name.value.slice(0, longestName) }),
    }
    if (present) {
      present.setAttributes(attributes)
      return noting(present, work)
    }
    const span = requests.startSpan(
      kind,
      { kind: SpanKind.SERVER, attributes },
      request ? parentOf(request) : ROOT_CONTEXT,
    )
    return current.run(span, () => noting(span, work).finally(() => span.end()))
  }

  return {
    watch(server) {
      server.prependListener('request', begin)
    },
    routed,
    traced,
    createWriter: (options) => createTracedWriter(batches, () => current.getStore(), options),
    async stop() {
      // Requests that the server has just cut off: they close only after the queue has ended.
      for (const end of [...open]) end()
      await queue.close()
      await exporter.shutdown()
    },
  }
}

const nameOf = (method: unknown, template = ''): string =>
  `${method === '_OTHER' ? 'HTTP' : String(method)} ${template}`.trimEnd()

/** The operation's outcome is the code of its first error. Messages may quote what was sent. */
async function noting<Result extends object>(span: Span, work: () => Promise<Result>): Promise<Result> {
  const result = await work().catch((error: unknown) => {
    fail(span, 'INTERNAL_SERVER_ERROR')
    throw error
  })
  const [error] = 'errors' in result && Array.isArray(result.errors) ? result.errors : []
  const code: unknown = error?.extensions?.code
  if (error) fail(span, typeof code === 'string' ? code.slice(0, longestName) : 'INTERNAL_SERVER_ERROR')
  return result
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
