/**
 * A cluster's API server over HTTP: the pages of a list and the events of a watch. Both have back-pressure: a slow consumer slows the server
 * down. The watch of the client library was rejected: it does not wait for its callback, and does not report a broken line.
 */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { KubeConfig } from '@kubernetes/client-node'
import { readJson } from '../dialects/body/json-reader.ts'
import { DomainError } from '../domain/errors.ts'
import { gather } from '../limits/gather.ts'
import { paced } from '../limits/pace.ts'
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
  /** Milliseconds for one response with a list. */
  readonly listTime?: number
  /** Bytes of one response with a list. */
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

/** Bytes. Many times the limit that etcd has for an object. */
const longestLine = 16 << 20
/** Values of one response with a list, or of one line of a watch: `[{},{},…]` needs forty times its size as objects. An object has one in some thirty bytes. */
const mostValues = 4_000_000
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
        const { metadata, items } = (await readObject(answer.take())) as { metadata?: Json; items?: unknown }
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

/** Splits a stream into lines. The end of a line may arrive later than its beginning. */
function createLineSplitter(): (bytes: Buffer) => readonly Buffer[] {
  const line = gather()
  let length = 0
  return (bytes) => {
    const lines: Buffer[] = []
    let begin = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, begin)) {
      line.add(bytes.subarray(begin, end))
      lines.push(line.take())
      length = 0
      begin = end + 1
    }
    line.add(bytes.subarray(begin))
    length += bytes.length - begin
    if (length > longestLine) throw new ApiServerError('a line of its stream does not end')
    return lines
  }
}

type Json = Readonly<Record<string, unknown>>

const newline = 0x0a
const isBlank = (line: Buffer): boolean => line.length < 100 && line.toString().trim() === ''

/** Events before an error are valid. */
async function readEvents(lines: readonly Buffer[]) {
  const events: WatchEvent[] = []
  for (const line of lines) {
    if (isBlank(line)) continue
    const event = await readEvent(line)
    if (event instanceof ApiServerError) return { events, failure: event }
    if (event) events.push(event)
  }
  return { events, failure: null }
}

async function readEvent(line: Buffer): Promise<WatchEvent | ApiServerError | null> {
  let event: Json
  try {
    event = (await readObject(line)) as Json
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
async function readObject(bytes: Buffer): Promise<object> {
  try {
    const options = { deepest: Number.POSITIVE_INFINITY, room: 'anywhere', most: mostValues } as const
    const value = await paced(readJson(bytes, options))
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    if (error instanceof DomainError && error.code === 'TOO_LARGE')
      throw new ApiServerError(`it answers with more than ${mostValues} values`)
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
