/** Subscriptions as server-sent events, by fetch: with credentials in headers, and a server that waits while the caller does not read. */
import { ApiError, toUnreachable } from './errors.ts'
import { largestAnswer, readResult, send, tooLarge } from './request.ts'
import type { Result, Transport } from './transport.ts'

/** Milliseconds. The server sends a comment every 12 s. */
const longestSilence = 30_000

export const serverSentEvents: Transport = (endpoint) =>
  async function* open(operation, signal) {
    const over = new AbortController()
    const stop = (): void => over.abort()
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    const inTime = <T>(work: Promise<T>): Promise<T> => {
      const silent = new ApiError('UNREACHABLE', `nothing was received for ${longestSilence / 1_000} s`)
      const timer = setTimeout(() => over.abort(silent), longestSilence)
      return work.finally(() => clearTimeout(timer))
    }
    try {
      const accept = 'text/event-stream, application/json;q=0.9'
      const response = await inTime(send(endpoint, operation, accept, over.signal))
      if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
        return yield await readResult(response)
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      for await (const { kind, text } of eventsOf(() => inTime(reader.read()))) {
        if (kind === 'complete') return
        if (kind === 'next') yield JSON.parse(text) as Result
      }
      throw new ApiError('UNREACHABLE', 'the connection was closed')
    } catch (error) {
      if (!signal.aborted) throw toUnreachable(error)
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }

async function* eventsOf(read: () => Promise<{ readonly value?: Uint8Array | undefined }>) {
  const decoder = new TextDecoder()
  let text = ''
  for (let part = await read(); part.value; part = await read()) {
    // The end of an event may be split.
    let from = Math.max(text.length - 1, 0)
    text += decoder.decode(part.value, { stream: true })
    for (let end = text.indexOf('\n\n', from); end >= 0; end = text.indexOf('\n\n')) {
      const fields = text.slice(0, end)
      text = text.slice(end + 2)
      from = 0
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(fields)?.[1] ?? ''
      yield { kind: field('event'), text: field('data') }
    }
    if (text.length > largestAnswer) throw tooLarge()
  }
}
