/**
 * Sends the results of a subscription by a response that stays open (event-format.ts).
 *
 * While the client does not read, the listener is busy: nothing is executed, and events wait in the feed's buffer.
 */
import type { ServerResponse } from 'node:http'
import { type Plugin, processRegularResult } from 'graphql-yoga'
import type { ApiAuth } from '../../auth/api/api-auth.ts'
import { formatError, formatResult, type MaskError, maskResult } from '../execution/errors.ts'
import { type EventResult, textOf } from '../execution/event-result.ts'
import type { Listener } from '../execution/subscriber-line.ts'
import type { ResultStream } from '../execution/subscription.ts'
import { asksForParts, type EventFormat, multipart, serverSentEvents } from './event-format.ts'
import { principalOf, type RequestState, type StateContext, stateOf } from './request-state.ts'

const headers = {
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  // Otherwise nginx buffers the events.
  'X-Accel-Buffering': 'no',
}

export interface EventStreams {
  readonly plugin: Plugin<object, StateContext>
  /** Ends all streams, also later ones, without `complete` and with their connections, so that clients reconnect. */
  close(): void
}

interface EventStreamOptions {
  /** Calls back when the credential of the caller expires or is revoked. */
  readonly follow: ApiAuth['follow']
  readonly maskError: MaskError
  /** Milliseconds between comments. */
  readonly pingInterval?: number | undefined
}

export function createEventStreams({ follow, maskError, pingInterval = 12_000 }: EventStreamOptions): EventStreams {
  const open = new Set<() => void>()
  let isClosed = false

  const textOfResult = (result: EventResult): string =>
    textOf(result, (own) => formatResult(maskResult(own, maskError)))

  /** Listens to the request's signal: if the client leaves before the response is read, `cancel` is not called. */
  function createStream(
    results: ResultStream,
    format: EventFormat,
    { signal, state }: { readonly signal: AbortSignal | null; readonly state: RequestState },
  ) {
    const encoder = new TextEncoder()
    let controller: ReadableStreamDefaultController<Uint8Array> | null = null
    let ping: NodeJS.Timeout | undefined
    let leave: (() => void) | null = null
    /** Resolves the pending pull. */
    let pulled = (): void => undefined
    /** Ends the time in which the listener is busy. */
    let resume = (): void => undefined
    /** The last events of a stream that ended. */
    let last: string | null = null
    let isOver = false

    const send = (text: string): void => controller?.enqueue(encoder.encode(text))

    const listener: Listener = {
      take(result) {
        send(format.next(textOfResult(result), result.resumeFrom))
        pulled()
        return new Promise((resolve) => (resume = resolve))
      },
      end: () => finish(format.end),
      fail: (error) => finish(`${format.fail(JSON.stringify([formatError(maskError(error))]))}${format.end}`),
    }

    function finish(text: string): void {
      last = text
      sendLast()
    }

    function sendLast(): void {
      if (last === null || isOver) return
      send(last)
      end()
      controller?.close()
    }

    function end(): void {
      if (isOver) return
      isOver = true
      clearInterval(ping)
      open.delete(cut)
      unfollow()
      signal?.removeEventListener('abort', end)
      if (leave) leave()
      else results.close()
      pulled()
    }

    function cut(): void {
      end()
      // On the same connection, a client would reach the closing server again. An EventSource gives up at its 503.
      const { response } = state
      if (isClosed) response?.once('finish', () => (response as ServerResponse).req.socket.destroySoon())
      controller?.close()
    }

    open.add(cut)
    const unfollow = follow(principalOf(state), cut)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
    if (isClosed) cut()
    return {
      start(own: ReadableStreamDefaultController<Uint8Array>) {
        controller = own
        send(format.begin(results.start))
        if (isOver) own.close()
        else ping = setInterval(() => send(format.keepAlive), pingInterval)
      },
      pull() {
        if (isOver) return
        const { promise, resolve } = Promise.withResolvers<void>()
        pulled = resolve
        if (leave) resume()
        else leave = results.listen(listener)
        return promise
      },
      cancel: end,
    }
  }

  return {
    close() {
      isClosed = true
      for (const cut of [...open]) cut()
    },
    plugin: {
      onResultProcess({ request, resultProcessor, setResultProcessor, serverContext }) {
        const state = stateOf(serverContext)
        const { events } = state
        const isInParts = asksForParts(request.headers.get('accept') ?? '')
        if (!events) {
          // A refusal is no stream. Yoga's parts are of another form, and it has none for a subscription.
          if (isInParts) setResultProcessor(processRegularResult, 'application/json')
          return
        }
        // The client accepts no stream. Yoga refuses the request.
        if (!isInParts && !resultProcessor) return events.close()
        const format = isInParts ? multipart : serverSentEvents
        setResultProcessor((_, { ReadableStream, Response }) => {
          const source = createStream(events, format, { signal: request.signal ?? null, state })
          // A copy: Yoga's plugins write the headers of a response into the object that it was made of.
          const init = { status: 200, headers: { 'Content-Type': format.contentType, ...headers } }
          return new Response(new ReadableStream(source), init)
        }, format.mediaType)
      },
    },
  }
}
