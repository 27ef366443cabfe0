/**
 * A cluster's API server over HTTP: the pages of a list and the events of a watch. Both have back-pressure: a slow consumer slows the server
 * down. The watch of the client library was rejected: it does not wait for its callback, and does not report a broken line.
 */
import type { IncomingMessage, RequestOptions } from 'node:http'
import type { KubeConfig } from '@kubernetes/client-node'
import { memberOf, readAnswer } from '../../platform/outbound/json.ts'
import { type ListAnswer, type ListPart, readListAnswer } from '../../platform/outbound/list.ts'
import { openAnswer, readBytes } from '../../platform/outbound/request.ts'
import { ApiServerError, describeRefusal, toApiServerError } from './api-server-error.ts'
import { resourceVersionOf } from './custom-resource.ts'
import { createLineSplitter, objectLimits, readEvents, type WatchEvent } from './watch-events.ts'

/** A part of a page. */
interface Listed extends ListPart {
  readonly resourceVersion: string
}

export interface WatchedPart {
  readonly events: readonly WatchEvent[]
  /** Events without an object that can be read. */
  readonly leftOut: number
}

export interface ApiServer {
  /** The least seconds of a watch that the server itself ends. */
  readonly streamSeconds: number
  /** A watch continues at the last page's resourceVersion. `isPaged` false: one page with everything, for servers whose pages expire too soon. */
  list(path: string, signal: AbortSignal, isPaged: boolean): AsyncGenerator<Listed>
  /** Events that arrived together are one item. The first item is empty: the stream has begun. */
  watch(path: string, after: string, signal: AbortSignal): AsyncGenerator<WatchedPart>
}

export interface ApiServerLimits {
  /** Objects on a page. */
  readonly pageSize?: number
  /** Seconds after which the server itself ends a watch. A server that is silent for longer is lost. */
  readonly streamSeconds?: number
  /** Milliseconds that the server has to begin an answer, to continue one, or to end a watch. */
  readonly timeout?: number
  /** Milliseconds that the server has for a whole list, without those in which its pages are written. */
  readonly listTime?: number
  /** Pages of a whole list. */
  readonly mostPages?: number
  /** Bytes of one response with a list. */
  readonly longestList?: number
}

const longestRefusal = 64 * 1024
const refusalLimits = { most: 1_000, longestText: longestRefusal }
/** Of a page. Values are counted, and not created, before its objects are read one by one. */
const pageLimits = { most: 4_000_000, longestText: 2 << 20, mostElements: 200_000, element: objectLimits }
/** Characters of the token of the next page. */
const longestToken = 8_192

export function createApiServer(load: () => Promise<KubeConfig>, limits: ApiServerLimits = {}): ApiServer {
  const { pageSize = 50, streamSeconds = 120, timeout = 20_000 } = limits
  const { listTime = 300_000, mostPages = 10_000, longestList = 128 << 20 } = limits
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

  /** A page of a list. */
  async function readPage(
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
    time: number,
  ): Promise<ListAnswer> {
    try {
      const { bytes, isWhole } = await readBytes(read(path, query, signal, { silence: timeout, time }), longestList)
      if (!isWhole) throw new ApiServerError('a list of it does not end')
      return await readListAnswer(bytes, 'items', pageLimits)
    } catch (error) {
      throw toApiServerError(error, signal)
    }
  }

  return {
    streamSeconds,
    async *list(path, signal, isPaged) {
      let token: string | null = null
      let left = listTime
      for (let pages = 1; ; pages += 1) {
        if (pages > mostPages || left <= 0) throw new ApiServerError(`its list does not end, after ${pages - 1} pages`)
        const query = {
          ...(isPaged ? { limit: String(pageSize) } : {}),
          ...(token === null ? {} : { continue: token }),
        }
        const began = performance.now()
        const { members, parts } = await readPage(path, query, signal, left)
        left -= performance.now() - began
        const resourceVersion = resourceVersionOf(members)
        if (resourceVersion === null) throw new ApiServerError('it answers with a list without a resourceVersion')
        yield { objects: [], others: 0, unreadable: 0, resourceVersion }
        for await (const part of parts()) yield { ...part, resourceVersion }
        const next = nextPage(members)
        if (next === null) return
        if (next === token) throw new ApiServerError('its list does not end: a page leads to itself')
        token = next
      }
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
        const { events, leftOut, failure } = await readEvents(lines)
        if (events.length > 0 || leftOut > 0 || bytes.length === 0) yield { events, leftOut }
        if (failure) throw failure
      }
    },
  }
}

/** The token of the next page. Null: this is the last one. */
function nextPage(members: object): string | null {
  const token = memberOf(memberOf(members, 'metadata'), 'continue')
  if (typeof token !== 'string' || token === '') return null
  if (token.length > longestToken)
    throw new ApiServerError(`it continues a list with a token of ${token.length} characters`)
  return token
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
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new ApiServerError('it does not answer')), timeout)
  let response: IncomingMessage
  try {
    response = await openAnswer(url, { ...options, signal: AbortSignal.any([signal, late.signal]) })
  } catch (error) {
    throw late.signal.aborted ? late.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
  if (response.statusCode === 200) return response
  const status = response.statusCode ?? 0
  const seconds = Number(response.headers['retry-after'])
  throw new ApiServerError(
    `it answers with ${describeRefusal(status, await readStatus(response, timeout))}`,
    status,
    seconds > 0 ? seconds * 1000 : null,
  )
}

/** What the server says about a refusal. Undefined: the status has to be enough. */
async function readStatus(response: IncomingMessage, timeout: number): Promise<unknown> {
  const timer = setTimeout(() => response.destroy(), timeout)
  try {
    return await readAnswer((await readBytes(response, longestRefusal)).bytes, refusalLimits)
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
    response.destroy()
  }
}
