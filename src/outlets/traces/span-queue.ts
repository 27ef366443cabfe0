/**
 * Spans of requests that wait for the collector. A request must never wait for it, and memory must not grow while it is away: what does not fit into
 * the queue, and what the collector does not accept, is dropped and counted. The SDK's own processor was rejected: it counts nothing.
 */
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base'

interface SpanQueueOptions {
  readonly exporter: Pick<SpanExporter, 'export'>
  readonly sent: (count: number) => void
  /** `error`: of the collector. Null: the queue was full. */
  readonly dropped: (count: number, error: unknown) => void
  /** Spans that wait, besides those of one request to the collector. */
  readonly capacity?: number
  /** Milliseconds. */
  readonly interval?: number
}

interface SpanQueue {
  readonly processor: SpanProcessor
  /** Sends what waits. */
  close(): Promise<void>
}

/** Spans in one request to the collector. */
const most = 500

export function createSpanQueue({
  exporter,
  sent,
  dropped,
  capacity = 2_048,
  interval = 1_000,
}: SpanQueueOptions): SpanQueue {
  const waiting: ReadableSpan[] = []
  let sending: Promise<void> | null = null
  let isClosed = false

  function send(): void {
    if (waiting.length === 0) return
    sending ??= sendNext().finally(() => {
      sending = null
      if (waiting.length >= most) send()
    })
  }

  function sendNext(): Promise<void> {
    const spans = waiting.splice(0, most)
    return new Promise((resolve) =>
      exporter.export(spans, ({ code, error }) => {
        if (code === 0) sent(spans.length)
        else dropped(spans.length, error)
        resolve()
      }),
    )
  }

  async function flush(): Promise<void> {
    while (sending !== null || waiting.length > 0) {
      send()
      await sending
    }
  }

  const timer = setInterval(send, interval)
  timer.unref()
  async function close(): Promise<void> {
    isClosed = true
    clearInterval(timer)
    await flush()
  }

  return {
    processor: {
      onStart() {},
      onEnd(span) {
        if (isClosed || waiting.length >= capacity) return dropped(1, null)
        waiting.push(span)
        if (waiting.length >= most) send()
      },
      forceFlush: flush,
      shutdown: close,
    },
    close,
  }
}
