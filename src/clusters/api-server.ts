/**
 * A cluster's API server over HTTP: the pages of a list and the events of a watch. Both have back-pressure: a slow consumer slows the server
 * down. The watch of the client library was rejected: it does not wait for its callback, and does not report a broken line.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { parseJson } from '../dialects/body/json.ts'
import { KubeconfigError } from './kubeconfig.ts'

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: object }
  | { readonly type: 'BOOKMARK'; readonly object: object }

interface ListPage {
  readonly items: readonly object[]
  readonly resourceVersion: string
}

export interface ApiServer {
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
  /** Characters of one response with a list. */
  readonly longestList?: number
}

/** An error for operators. Its message contains no credentials. */
export class ApiServerError extends Error {
  /** The HTTP status, or the code of the error in the stream. */
  readonly status: number | null
  /** Milliseconds. */
  readonly retryAfter: number | null

  constructor(message: string, status: number | null = null, retryAfter: number | null = null) {
    super(message)
    this.name = 'ApiServerError'
    this.status = status
    this.retryAfter = retryAfter
  }

  /** Our resourceVersion is too old for the server: list again. */
  get isExpired(): boolean {
    return this.status === 410
  }
}

/** Characters. Many times the limit that etcd has for an object. */
const longestLine = 64 * 1024 * 1024
const longestRefusal = 64 * 1024

export function createApiServer(load: () => Promise<KubeConfig>, limits: ApiServerLimits = {}): ApiServer {
  const { pageSize = 50, streamSeconds = 120, timeout = 20_000, longestList = 4 * longestLine } = limits
  let loaded: Promise<KubeConfig> | null = null

  /** Text as it arrives, after the server has answered 200. */
  async function* read(path: string, query: Record<string, string>, signal: AbortSignal, silence: number) {
    let response: IncomingMessage
    try {
      loaded ??= load()
      response = await open(await loaded, path, query, signal, timeout)
    } catch (error) {
      // Files and tokens may have been renewed since the last request.
      loaded = null
      throw toApiServerError(error, signal)
    }
    const arriving = response.setEncoding('utf8')[Symbol.asyncIterator]()
    try {
      yield ''
      for (;;) {
        const timer = setTimeout(() => response.destroy(new ApiServerError('it has fallen silent')), silence)
        const next = await arriving.next().finally(() => clearTimeout(timer))
        if (next.done) return
        yield next.value as string
      }
    } catch (error) {
      throw toApiServerError(error, signal)
    } finally {
      response.destroy()
    }
  }

  return {
    async *list(path, signal, isPaged) {
      let token: string | undefined
      do {
        const query = { ...(isPaged ? { limit: String(pageSize) } : {}), ...(token ? { continue: token } : {}) }
        const parts: string[] = []
        let length = 0
        for await (const text of read(path, query, signal, timeout)) {
          length += text.length
          if (length > longestList) throw new ApiServerError('a list of it does not end')
          parts.push(text)
        }
        const { metadata, items } = readJson(parts.join('')) as { metadata?: Json; items?: unknown }
        const { resourceVersion, continue: more } = metadata ?? {}
        if (!Array.isArray(items) || typeof resourceVersion !== 'string' || resourceVersion === '')
          throw new ApiServerError('it answers with something that is not a list')
        yield { items, resourceVersion }
        token = typeof more === 'string' && more !== '' ? more : undefined
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
      let rest: string[] = []
      let length = 0
      for await (const text of read(path, query, signal, seconds * 1000 + timeout)) {
        const [first = '', ...others] = text.split('\n')
        rest.push(first)
        length += first.length
        if (length > longestLine) throw new ApiServerError('a line of its stream does not end')
        if (text !== '' && others.length === 0) continue
        const last = others.pop() ?? ''
        const lines = text === '' ? [] : [rest.join(''), ...others]
        rest = [last]
        length = last.length
        // Events before an error are valid.
        const events: WatchEvent[] = []
        let failure: ApiServerError | null = null
        for (const line of lines) {
          if (line.trim() === '') continue
          const read = readEvent(line)
          if (read instanceof ApiServerError) {
            failure = read
            break
          }
          if (read) events.push(read)
        }
        if (events.length > 0 || text === '') yield events
        if (failure) throw failure
      }
    },
  }
}

type Json = Readonly<Record<string, unknown>>

function readEvent(line: string): WatchEvent | ApiServerError | null {
  let event: Json
  try {
    event = readJson(line) as Json
  } catch (error) {
    return error as ApiServerError
  }
  const { type, object } = event
  if (typeof object !== 'object' || object === null) return new ApiServerError('an event of its stream has no object')
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type, object }
    case 'ERROR': {
      const { code, reason } = object as Json
      const status = typeof code === 'number' ? code : reason === 'Expired' || reason === 'Gone' ? 410 : 500
      return new ApiServerError(`its stream ends with ${describe(status, object)}`, status)
    }
    default:
      return null
  }
}

/** Integers keep their digits. An object that is nested too deep fails alone, not the whole answer. */
function readJson(text: string): unknown {
  try {
    const value = parseJson(text, Number.POSITIVE_INFINITY)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // The error below does not quote the text.
  }
  throw new ApiServerError('it answers with something that is not JSON')
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
    `it answers with ${describe(status, parseStatus(text))}`,
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

/** The text of an API server about a refusal contains names of users and resources. */
function describe(status: number, said: object): string {
  const { reason, message } = said as Json
  if (status === 401) return '401: it does not accept the kubeconfig’s credentials'
  if (status === 404) return '404: it does not know ResourceBundleStates (is EMCO’s monitor installed there?)'
  const words = [reason, message].filter((word) => typeof word === 'string' && word !== '').join(': ')
  return words === '' ? String(status) : `${status} ${words.slice(0, 300)}`
}

function toApiServerError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof ApiServerError) return error
  if (error instanceof KubeconfigError) return new ApiServerError(error.message)
  const { code } = error as { code?: unknown }
  return new ApiServerError(`the connection failed${typeof code === 'string' ? `: ${code}` : ''}`)
}
