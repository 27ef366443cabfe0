/**
 * Results as server-sent events (graphql-sse's "distinct connections", and any EventSource):
 *
 *   : comment     at once, and every 12 s, so that nobody between us takes the silence for death
 *   id: 1234      on `changes`: the event's cursor, whether it was selected or not, for Last-Event-ID
 *   event: next   data: one execution result        …until   event: complete
 *
 * The reader pulls: while it does not read, nothing is executed, and the feed's own buffer is the one that fills.
 */
import type { Plugin } from 'graphql-yoga'
import { createAttachment } from '../attachment.ts'
import type { Revision } from '../domain/deployment.ts'
import { formatResult, type MaskError } from './errors.ts'
import { type EventResult, type EventResults, resumeFrom } from './operation.ts'
import { textOf } from './shared-execution.ts'

const keepAlive = ':\n\n'

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  // nginx would hold the events back.
  'X-Accel-Buffering': 'no',
}

export interface EventStreams {
  readonly plugin: Plugin
  /** Where the stream that answers this request begins: its reader may be cut off before the first event. */
  begins(request: object, at: Revision): void
  /** Cuts all of them off, without `complete`: their readers reconnect. */
  close(): void
}

/** `follow`: calls back when the credential of that request is no longer good. */
export function createEventStreams(
  follow: (request: object, end: () => void) => () => void,
  maskError: MaskError,
  pingInterval = 12_000,
): EventStreams {
  const starts = createAttachment<object, Revision>('start')
  const open = new Set<() => void>()

  /** `signal`: the client is gone; it may be so before anybody reads the response, and then nobody cancels it. */
  function createStream(results: EventResults, request: Request) {
    const start = starts.get(request)
    const signal = request.signal ?? null
    const encoder = new TextEncoder()
    let controller: ReadableStreamDefaultController<Uint8Array> | null = null
    let ping: NodeJS.Timeout | undefined
    let isOver = false

    function end(): void {
      if (isOver) return
      isOver = true
      clearInterval(ping)
      open.delete(cut)
      unfollow()
      signal?.removeEventListener('abort', end)
      void results.return?.()
    }

    function cut(): void {
      end()
      controller?.close()
    }

    /** A stream that fails says so in its last event. */
    async function next(): Promise<{ readonly done?: boolean | undefined; readonly value?: EventResult }> {
      try {
        return await results.next()
      } catch (error) {
        return { done: true, value: { errors: [maskError(error)] } }
      }
    }

    open.add(cut)
    const unfollow = follow(request, cut)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
    return {
      start(own: ReadableStreamDefaultController<Uint8Array>) {
        controller = own
        own.enqueue(encoder.encode(start === undefined ? keepAlive : `id: ${start}\n\n`))
        if (!isOver) ping = setInterval(() => own.enqueue(encoder.encode(keepAlive)), pingInterval)
      },
      async pull(own: ReadableStreamDefaultController<Uint8Array>) {
        if (isOver) return
        const { done, value } = await next()
        if (isOver) return
        if (value) own.enqueue(encoder.encode(eventOf(value)))
        if (!done) return
        own.enqueue(encoder.encode('event: complete\ndata:\n\n'))
        end()
        own.close()
      },
      cancel: end,
    }
  }

  return {
    begins: (request, at) => void starts.set(request, at),
    close() {
      for (const cut of [...open]) cut()
    },
    plugin: {
      onResultProcess({ request, result, resultProcessor, setResultProcessor }) {
        if (!isIterable(result)) return
        // The client accepts no event streams: Yoga tells it so, and nobody will read this one.
        if (!resultProcessor) return void result.return?.()
        setResultProcessor((_, fetchAPI) => {
          const source = createStream(result, request)
          return new fetchAPI.Response(new fetchAPI.ReadableStream(source), { status: 200, headers })
        }, 'text/event-stream')
      },
    },
  }
}

function eventOf(result: EventResult): string {
  const id = result[resumeFrom]
  return `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${textOf(result, formatResult)}\n\n`
}

function isIterable(result: unknown): result is EventResults {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
