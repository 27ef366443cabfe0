/**
 * Sends results as server-sent events (graphql-sse's "distinct connections", and any EventSource):
 *
 *   : comment     at once, and every 12 s, so that proxies do not close an idle connection
 *   id: 1234      on `changes`: the cursor of the event, selected or not, for Last-Event-ID
 *   event: next   data: one execution result        …until   event: complete
 *
 * The client pulls: while it does not read, nothing is executed, and events wait in the feed's buffer.
 */
import type { ServerResponse } from 'node:http'
import type { Plugin } from 'graphql-yoga'
import { createAttachment } from '../../attachment.ts'
import type { Revision } from '../../domain/values.ts'
import { formatResult, type MaskError } from '../execution/errors.ts'
import { type EventResult, resumeFrom } from '../execution/event-result.ts'
import type { EventResults } from '../execution/operation.ts'
import { textOf } from '../execution/shared-execution.ts'

const keepAlive = ':\n\n'

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  // Otherwise nginx buffers the events.
  'X-Accel-Buffering': 'no',
}

export interface EventStreams {
  readonly plugin: Plugin
  /** The start of the stream for this request, sent at once: the client may be disconnected before the first event. */
  begins(request: object, at: Revision): void
  /** Ends all streams, also later ones, without `complete` and with their connections, so that clients reconnect. */
  close(): void
}

/** `follow`: calls back when the credential of that request expires or is revoked. */
export function createEventStreams(
  follow: (request: object, end: () => void) => () => void,
  maskError: MaskError,
  pingInterval = 12_000,
): EventStreams {
  const starts = createAttachment<object, Revision>('start')
  const open = new Set<() => void>()
  let isClosed = false

  /** Listens to the request's signal: if the client leaves before the response is read, `cancel` is not called. */
  function createStream(results: EventResults, request: Request, response: ServerResponse | undefined) {
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
      // On the same connection, a client would reach the closing server again. An EventSource gives up at its 503.
      if (isClosed) response?.once('finish', () => response.req.socket.destroySoon())
      controller?.close()
    }

    /** Reports a failure of the stream in a last event. */
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
    if (isClosed) cut()
    return {
      start(own: ReadableStreamDefaultController<Uint8Array>) {
        controller = own
        own.enqueue(encoder.encode(start === undefined ? keepAlive : `id: ${start}\n\n`))
        if (isOver) own.close()
        else ping = setInterval(() => own.enqueue(encoder.encode(keepAlive)), pingInterval)
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
      isClosed = true
      for (const cut of [...open]) cut()
    },
    plugin: {
      onResultProcess({ request, result, resultProcessor, setResultProcessor, serverContext }) {
        if (!isIterable(result)) return
        // The client does not accept event streams. Yoga refuses the request, so this stream will not be read.
        if (!resultProcessor) return void result.return?.()
        setResultProcessor((_, fetchAPI) => {
          const { res } = serverContext as { readonly res?: ServerResponse }
          const source = createStream(result, request, res)
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
