/**
 * The response cache wraps Yoga: it repeats a response until something is written. All fleet data is written in batches
 * that move the log head, so a response with the present head's stamp is byte for byte what an execution would return.
 *
 *   plain request ──▶ authenticate ──▶ cached response? ──▶ log head unchanged? ──▶ send the bytes
 *                                           │no                  │no
 *                                           └────────────────────┴──▶ execute; cache it if allowed and requested before
 *
 * The head is read for each request, by one statement for all waiting requests or with the caller's API key or session, so no
 * response is older than its request. Equal concurrent requests are executed once. Responses with data that is written outside of batches are
 * never cached.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { rightsKey } from '../../../domain/principal.ts'
import { coalesce } from '../../../store/connection/coalesce.ts'
import { readHead } from '../../../store/connection/log-head.ts'
import type { Database, LogHead } from '../../../store/database.ts'
import type { DocumentFastPath } from './document-fast-path.ts'
import {
  type CompleteResponse,
  entityTagOf,
  type Headers,
  matchesEntityTag,
  type RepeatedResponse,
  sendComplete,
  toRepeated,
} from './entity-tag.ts'
import { holdResponse } from './held-response.ts'
import { readPlain } from './plain-request.ts'
import type { RequestState } from './request-state.ts'
import { revisionHeader } from './revision-header.ts'

interface ResponseCacheDeps {
  readonly database: Pick<Database, 'session'>
  readonly documents: Pick<DocumentFastPath, 'learn' | 'answer'>
  readonly yoga: YogaHandler
}

/** Answers a request by Yoga. `headers`: additional response headers. */
export type YogaHandler = (exchange: Exchange, headers: Headers) => void

/** A request over a socket. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly state: RequestState
}

/** Answers a plain request from the cache or by Yoga. Rejects if the database or the client is gone. */
export type ResponseCache = (exchange: Exchange, headers: Headers) => Promise<void>

/** Bytes: of a response, of the whole cache. */
const maxResponseSize = 1024 * 1024
const maxCacheSize = 64 * 1024 * 1024

interface CachedResponse extends RepeatedResponse {
  readonly stamp: string
}

export function createResponseCache({ database, documents, yoga }: ResponseCacheDeps): ResponseCache {
  const cache = new LRUCache<string, CachedResponse>({
    maxSize: maxCacheSize,
    sizeCalculation: ({ body }) => body.length + 512,
  })
  const wasRequested = createRequestMemory()
  const executing = new Map<string, Promise<void>>()
  const currentStamp = coalesce(async () => stampOf(await readHead(database.session)))

  /** Declares that the request with this key is executing. Call the result when its response is complete. */
  function execute(key: string, response: ServerResponse): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    response.once('close', resolve)
    executing.set(key, promise)
    promise.then(() => {
      if (executing.get(key) === promise) executing.delete(key)
    })
    return resolve
  }

  /** Adds the response to the cache if that is allowed. */
  function keep({ dependsOn }: RequestState, key: string, { headers, body }: CompleteResponse): CompleteResponse {
    const complete = { headers: { ...headers, 'content-length': String(body.length) }, body }
    // Most requests are never repeated, so only the second equal request is cached.
    const isKept = (wasRequested(key) || cache.has(key)) && body.length <= maxResponseSize
    if (dependsOn && isKept) cache.set(key, { ...toRepeated(complete), stamp: stampOf(dependsOn.head) })
    return complete
  }

  /** The cached response, if nothing was written since. `headSeen`: the head, where this request has read it already. */
  async function currentOf(key: string, headSeen: LogHead | null): Promise<CachedResponse | null> {
    const stamp = headSeen ? stampOf(headSeen) : await currentStamp()
    // Looked up after the head was read: an equal request may have filled the cache meanwhile.
    const known = cache.get(key)
    return known?.stamp === stamp ? known : null
  }

  async function answer({ request, response, state }: Exchange, headers: Headers, key: string): Promise<void> {
    const finish = execute(key, response)
    const fast = await documents.answer(request, state)
    if (fast) {
      const revision = state.revision === null ? {} : { [revisionHeader]: String(state.revision) }
      const own = { ...fast.headers, ...revision, etag: entityTagOf(fast) }
      const complete = keep(state, key, { ...fast, headers: own })
      finish()
      return sendComplete(request, response, complete, headers)
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    holdResponse(response, (held) => {
      finish()
      if (!held || !state.dependsOn) return null
      const { etag: _, [revisionHeader]: __, ...own } = held.headers
      documents.learn(request, state.dependsOn.document, own)
      const complete = keep(state, key, held)
      return matchesEntityTag(request, complete) ? complete : null
    })
    yoga({ request, response, state }, {})
  }

  return async (exchange, headers) => {
    const { request, response, state } = exchange
    const question = await readPlain(request)
    // If authentication fails, Yoga reports the error.
    const principal = await state.authenticate().catch(() => null)
    if (principal === null) return yoga(exchange, headers)
    const key = `${rightsKey(principal)}\n${request.headers.accept ?? ''}\n${question}`
    // An equal request that is executing may fill the cache. Between this look and the execution nothing waits, so equal requests are executed once.
    for (let isFirst = true; ; isFirst = false) {
      const known = cache.has(key) ? await currentOf(key, isFirst ? state.headSeen : null) : null
      if (known) return sendComplete(request, response, known, headers)
      const other = executing.get(key)
      if (!other || !isFirst) break
      await other
    }
    if (!response.destroyed) await answer(exchange, headers, key)
  }
}

/** Returns whether it probably saw the text before: a hash table whose entries overwrite each other. */
function createRequestMemory(): (text: string) => boolean {
  const seen = new Int32Array(65_536)
  return (text) => {
    let hash = 17
    for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
    const place = hash >>> 16
    const isKnown = seen[place] === hash
    seen[place] = hash
    return isKnown
  }
}

function stampOf({ epochBase, revision, tail, writes }: LogHead): string {
  return `${epochBase}/${revision}/${tail}/${writes}`
}
