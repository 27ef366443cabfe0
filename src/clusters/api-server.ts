/**
 * A cluster's API server over HTTP: the pages of a list and the events of a watch. Both have back-pressure: a slow consumer slows the server
 * down. The watch of the client library was rejected: it does not wait for its callback, and does not report a broken line.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { gather } from '../limits/gather.ts'
import { ApiServerError, describeRefusal, toApiServerError } from './api-server-error.ts'
import { createLineSplitter, readEvents, readObject, type WatchEvent } from './watch-events.ts'

interface ListPage {
  readonly items: readonly object[]
  readonly resourceVersion: string
}

export interface ApiServer {
  /** The least seconds of a watch that the server itself ends. */
  readonly streamSeconds: number
  /** A watch continues at the last page's resourceVersion. `isPaged` false: one page with everything, for servers whose pages expire too soon. */
  list(path: string, signal: AbortSignal, isPaged: boolean): AsyncGenerator<ListPage>
  /** Events that arrived together are one item. The first item is empty: the stream has begun. */
  watch(path: string, after: string, signal: AbortSignal): AsyncGenerator<readonly WatchEvent[]>
}

export interface ApiServerLimits {
  /** Objects on a page. */
  readonly pageSize?: number
  /** Seconds after which the server itself ends a watch. A server that is silent for longer is lost. */
  readonly streamSeconds?: number
  /** Milliseconds that the server has to begin an answer, to continue one, or to end a watch. */
  readonly timeout?: number
  /** Milliseconds for one response with a list. */
  readonly listTime?: number
  /** Bytes of one response with a list. */
  readonly longestList?: number
}

const longestRefusal = 64 * 1024

export function createApiServer(load: () => Promise<KubeConfig>, limits: ApiServerLimits = {}): ApiServer {
  const { pageSize = 50, streamSeconds = 120, timeout = 20_000, listTime = 300_000, longestList = 128 << 20 } = limits
  let loaded: Promise<KubeConfig> | null = null

  /** Bytes as they arrive, after the server has answered 200. The first are none. A server that sends a byte now and then does not end either. */
  async function* read(
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
    { silence, time }: { readonly silence: number; readonly time: number },
  ) {
    let response: IncomingMessage
    try {
      loaded ??= load()
      response = await open(await loaded, path, query, signal, timeout)
    } catch (error) {
      // Files and tokens may have been renewed since the last request.
      loaded = null
      throw toApiServerError(error, signal)
    }
    const late = setTimeout(() => response.destroy(new ApiServerError('it does not end its answer')), time)
    const arriving = response[Symbol.asyncIterator]()
    try {
      yield Buffer.alloc(0)
      for (;;) {
        const timer = setTimeout(() => response.destroy(new ApiServerError('it has fallen silent')), silence)
        const next = await arriving.next().finally(() => clearTimeout(timer))
        if (next.done) return
        yield next.value as Buffer
      }
    } catch (error) {
      throw toApiServerError(error, signal)
    } finally {
      clearTimeout(late)
      response.destroy()
    }
  }

  return {
    streamSeconds,
    async *list(path, signal, isPaged) {
      let token: string | undefined
      do {
        const query = { ...(isPaged ? { limit: String(pageSize) } : {}), ...(token ? { continue: token } : {}) }
        const answer = gather()
        let length = 0
        for await (const bytes of read(path, query, signal, { silence: timeout, time: listTime })) {
          length += bytes.length
          if (length > longestList) throw new ApiServerError('a list of it does not end')
          answer.add(bytes)
        }
        const { more, ...page } = listIn(await readObject(answer.take()))
        yield page
        token = more
      } while (token !== undefined)
    },
    async *watch(path, after, signal) {
      // Jitter: the streams of a fleet must not all end at the same moment.
      const seconds = Math.ceil(streamSeconds * (1 + Math.random() / 4))
      const query = {
        watch: '1',
        resourceVersion: after,
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(seconds),
      }
      const time = seconds * 1000 + timeout
      const splitLines = createLineSplitter()
      for await (const bytes of read(path, query, signal, { silence: time, time })) {
        const lines = splitLines(bytes)
        if (bytes.length > 0 && lines.length === 0) continue
        const { events, failure } = await readEvents(lines)
        if (events.length > 0 || bytes.length === 0) yield events
        if (failure) throw failure
      }
    },
  }
}

/** `more`: the token of the next page. */
function listIn(answer: object): ListPage & { readonly more: string | undefined } {
  const { metadata, items } = answer as { metadata?: Readonly<Record<string, unknown>>; items?: unknown }
  const { resourceVersion, continue: more } = metadata ?? {}
  if (!Array.isArray(items) || typeof resourceVersion !== 'string' || resourceVersion === '')
    throw new ApiServerError('it answers with something that is not a list')
  return { items, resourceVersion, more: typeof more === 'string' && more !== '' ? more : undefined }
}

async function open(
  config: KubeConfig,
  path: string,
  query: Record<string, string>,
  signal: AbortSignal,
  timeout: number,
): Promise<IncomingMessage> {
  const url = new URL(`${config.getCurrentCluster()?.server.replace(/\/+$/, '')}${path}`)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const options: RequestOptions = { method: 'GET', headers: { accept: 'application/json' }, signal }
  try {
    await config.applyToHTTPSOptions(options)
  } catch (error) {
    // The message of a credential plugin may contain a secret.
    const { code } = error as { code?: unknown }
    throw new ApiServerError(
      `the kubeconfig's credentials cannot be used${typeof code === 'string' ? `: ${code}` : ''}`,
    )
  }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve)
    const timer = setTimeout(() => request.destroy(new ApiServerError('it does not answer')), timeout)
    request.on('response', () => clearTimeout(timer))
    request.on('close', () => clearTimeout(timer))
    request.on('error', reject)
    // Without a listener, Node closes the connection after a 101 and reports no error.
    request.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(new ApiServerError('it changes the protocol (101), which was not requested'))
    })
    request.end()
  })
  if (response.statusCode === 200) return response
  const timer = setTimeout(() => response.destroy(), timeout)
  let text = ''
  try {
    for await (const part of response.setEncoding('utf8')) {
      text += part
      if (text.length > longestRefusal) break
    }
  } catch {
    // The status is enough.
  } finally {
    clearTimeout(timer)
    response.destroy()
  }
  const status = response.statusCode ?? 0
  const seconds = Number(response.headers['retry-after'])
  throw new ApiServerError(
    `it answers with ${describeRefusal(status, parseStatus(text))}`,
    status,
    Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 300) * 1000 : null,
  )
}

function parseStatus(text: string): object {
  try {
    return Object(JSON.parse(text)) as object
  } catch {
    return {}
  }
}
