/**
 * The response cache: repeats a response until something is written. All fleet data is written in batches that move the
 * log head, so a response with the present head's stamp is byte for byte what an execution would return.
 *
 *   plain request ──▶ authenticate ──▶ cached response? ──▶ log head unchanged? ──▶ send the bytes
 *                                           │no                  │no
 *                                           └────────────────────┴──▶ execute; cache it if allowed and requested before
 *
 * The head is read for each request, by one statement for all waiting requests, so no response is older than its
 * request. Equal concurrent requests are executed once. Responses with data that is written outside of batches are
 * never cached.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DocumentNode, type GraphQLSchema, Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import { LRUCache } from 'lru-cache'
import { createAttachment } from '../../attachment.ts'
import type { Credentials } from '../../auth/api/credentials.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Principal, rightsKey } from '../../domain/principal.ts'
import { type Bodies, ClientGone } from '../../limits/bodies.ts'
import { readHead } from '../../store/connection/log-head.ts'
import type { Database, LogHead } from '../../store/database.ts'
import { accessOf } from '../guards/access.ts'
import type { Authentication } from '../guards/authentication.ts'
import { maxBodySize } from '../guards/limits.ts'
import type { DocumentFastPath } from './document-fast-path.ts'
import { answerGraphql, hasJson, receiveJson } from './request-body.ts'

export interface ResponseCache {
  /** Answers from the cache or by `ask`. `headers`: additional response headers. */
  handle(request: IncomingMessage, response: ServerResponse, headers?: Headers): void
  /** Declares that the response to this request depends on this document and log head alone. */
  tag(request: IncomingMessage, head: LogHead, document: DocumentNode): void
}

export interface ResponseCacheDeps {
  readonly database: Pick<Database, 'session'>
  readonly identify: Authentication['identify']
  readonly credentials: Pick<Credentials, 'of'>
  readonly bodies: Bodies
  readonly origins: readonly string[]
  readonly documents: Pick<DocumentFastPath, 'learn' | 'answer'>
  /** Yoga. */
  readonly ask: (request: IncomingMessage, response: ServerResponse) => unknown
}

/** Bytes: of a request, of a response, of the whole cache. */
const maxRequestSize = 16 * 1024
const maxResponseSize = 1024 * 1024
const maxCacheSize = 64 * 1024 * 1024

type Headers = Readonly<Record<string, string>>

interface CachedResponse {
  readonly headers: Headers
  readonly body: Buffer
}

interface Answer extends CachedResponse {
  readonly stamp: string
}

interface CacheKey {
  readonly key: string
  readonly principal: Principal
}

export function createResponseCache(deps: ResponseCacheDeps): ResponseCache {
  const { database, identify, credentials, bodies, origins, documents } = deps
  const answers = new LRUCache<string, Answer>({
    maxSize: maxCacheSize,
    sizeCalculation: ({ body }) => body.length + 512,
  })
  const wasAsked = createMemory()
  const underWay = new Map<string, Promise<void>>()
  const tags = createAttachment<IncomingMessage, { readonly stamp: string; readonly document: DocumentNode }>('note')
  const currentStamp = sharing(async () => stampOf(await readHead(database.session)))

  function ask(request: IncomingMessage, response: ServerResponse, headers: Headers): void {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    deps.ask(request, response)
  }

  async function answer(request: IncomingMessage, response: ServerResponse, headers: Headers): Promise<void> {
    const question = await readRequest(request)
    const asked = await identified(request, question)
    if (asked === null) return ask(request, response, headers)
    const { key, principal } = asked
    // An equal request that is being executed may fill the cache.
    for (let isFirst = true; ; isFirst = false) {
      const known = answers.get(key)
      if (known && known.stamp === (await currentStamp())) return send(request, response, known, headers)
      const other = underWay.get(key)
      if (!other || !isFirst) break
      await other
    }
    if (response.destroyed) return
    const answering = Promise.withResolvers<void>()
    response.once('close', answering.resolve)
    underWay.set(key, answering.promise)
    answering.promise.then(() => {
      if (underWay.get(key) === answering.promise) underWay.delete(key)
    })
    const plain = await documents.answer(request, principal)
    if (plain) {
      const cached = { ...plain, headers: { ...plain.headers, etag: etagOf(plain) } }
      const kept = keep(request, key, cached)
      answering.resolve()
      return send(request, response, kept, headers)
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    intercept(response, (cached) => {
      answering.resolve()
      const tag = tags.get(request)
      if (!cached || !tag) return null
      const { etag: _, ...headers } = cached.headers
      documents.learn(request, tag.document, headers)
      const kept = keep(request, key, cached)
      return etagMatches(request, kept) ? kept : null
    })
    deps.ask(request, response)
  }

  /** Adds the response to the cache if it is allowed. */
  function keep(request: IncomingMessage, key: string, { headers, body }: CachedResponse): CachedResponse {
    const cached = { headers: { ...headers, 'content-length': String(body.length) }, body }
    const stamp = tags.get(request)?.stamp
    // Most requests are never repeated, so only the second equal request is cached.
    const isKept = (wasAsked(key) || answers.has(key)) && body.length <= maxResponseSize
    if (stamp !== undefined && isKept) answers.set(key, { ...cached, stamp })
    return cached
  }

  /** Null: authentication failed. Yoga reports the error. */
  async function identified(request: IncomingMessage, question: string): Promise<CacheKey | null> {
    try {
      const principal = await identify(request, credentials.of(request))
      return { principal, key: `${rightsKey(principal)}\n${request.headers.accept ?? ''}\n${question}` }
    } catch {
      return null
    }
  }

  /** Reads no body without authentication or above the size limit: Yoga reports these errors. */
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (Number(request.headers['content-length'] ?? 0) > maxBodySize) return
    const isKnown = await identify(request, credentials.of(request)).then(
      () => true,
      () => false,
    )
    if (isKnown) await receiveJson(bodies, request, response)
  }

  function fail(response: ServerResponse, error: unknown, headers: Headers): void {
    if (response.headersSent || response.destroyed || error instanceof ClientGone) return
    answerGraphql(
      response,
      error instanceof DomainError ? error : new DomainError('UNAVAILABLE', 'the body was not read'),
      headers,
    )
  }

  return {
    handle(request, response, headers = {}) {
      if (hasJson(request) && !isPlain(request, origins)) {
        receive(request, response).then(
          () => ask(request, response, headers),
          (error: unknown) => fail(response, error, headers),
        )
        return
      }
      if (!isPlain(request, origins)) return ask(request, response, headers)
      answer(request, response, headers).catch(() => {
        // The database or the client is gone. The execution reports the error.
        if (!response.headersSent && !response.destroyed) ask(request, response, headers)
      })
    },
    tag: (request, head, document) => void tags.set(request, { stamp: stampOf(head), document }),
  }
}

/** Returns whether it probably saw the text before: a hash table whose entries overwrite each other. */
function createMemory(): (text: string) => boolean {
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

/** A request of a program: one JSON body, one JSON response. */
function isPlain({ method, headers, url = '' }: IncomingMessage, origins: readonly string[]): boolean {
  const { accept = '*/*', origin } = headers
  if (accept.length > 200 || /text\/|multipart/.test(accept)) return false
  // CORS headers depend on the origin.
  if (origin !== undefined && origins.length > 0) return false
  if (method === 'GET') return url.includes('query=') && url.length <= maxRequestSize
  if (method !== 'POST' || url !== '/graphql' || headers['content-encoding'] !== undefined) return false
  const length = Number(headers['content-length'])
  return (
    length > 0 &&
    length <= maxRequestSize &&
    /^application\/json(; *charset=utf-8)?$/i.test(headers['content-type'] ?? '')
  )
}

/** Never resolves if the body is never finished. Leaves the body in `request.body`, where Yoga looks for it. */
function readRequest(request: IncomingMessage & { body?: Buffer }): Promise<string> {
  if (request.method === 'GET') return Promise.resolve(request.url ?? '')
  const parts: Buffer[] = []
  return new Promise((resolve) => {
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => {
      const [first] = parts
      request.body = parts.length === 1 && first ? first : Buffer.concat(parts)
      resolve(request.body.toString('latin1'))
    })
  })
}

function stampOf({ epochBase, revision, tail, writes }: LogHead): string {
  return `${epochBase}/${revision}/${tail}/${writes}`
}

/** Shares work between callers. A caller that arrives during a run waits for the next: this one may read too early. */
function sharing<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  let next: Promise<T> | null = null
  const begin = (): Promise<T> => {
    next = null
    const own = work().finally(() => {
      if (running === own) running = null
    })
    running = own
    return own
  }
  return () => {
    if (!running) return begin()
    next ??= running.then(begin, begin)
    return next
  }
}

/** Holds the response back until it is complete, to add an ETag. `finish` gets null if it cannot be cached. */
function intercept(response: ServerResponse, finish: (cached: CachedResponse | null) => CachedResponse | null): void {
  const before = new Set(response.getHeaderNames())
  const parts: Buffer[] = []
  let isHeld = false
  const own = { writeHead: response.writeHead, write: response.write, end: response.end }
  const give = (): void => void Object.assign(response, own)
  Object.assign(response, {
    writeHead(status: number, ...more: readonly unknown[]) {
      const given = more.find((one) => typeof one === 'object' && one !== null) as Record<string, unknown> | undefined
      for (const [name, value] of Object.entries(given ?? {})) response.setHeader(name, value as string)
      response.statusCode = status
      isHeld = status === 200 && /json/.test(String(response.getHeader('content-type') ?? ''))
      if (isHeld) return response
      // A stream or an error: do not hold it back.
      give()
      finish(null)
      return response.writeHead(status)
    },
    write(chunk: string | Uint8Array, ...more: readonly unknown[]) {
      parts.push(Buffer.from(chunk as string))
      const done = more.find((one) => typeof one === 'function') as (() => void) | undefined
      done?.()
      return true
    },
    end(chunk?: unknown, ...more: readonly unknown[]) {
      give()
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) parts.push(Buffer.from(chunk as string))
      const body = Buffer.concat(parts)
      const headers: Record<string, string> = {}
      for (const name of response.getHeaderNames())
        if (!before.has(name) && name !== 'content-length') headers[name] = String(response.getHeader(name))
      const etag = etagOf({ headers: { 'content-type': String(response.getHeader('content-type') ?? '') }, body })
      const unchanged = finish(isHeld ? { headers: { ...headers, etag }, body } : null)
      if (isHeld) response.setHeader('etag', etag)
      if (unchanged) return notModified(response, unchanged)
      response.setHeader('content-length', body.length)
      const done = [chunk, ...more].find((one) => typeof one === 'function') as (() => void) | undefined
      return response.end(body, done)
    },
  })
}

function etagOf({ headers, body }: CachedResponse): string {
  const hash = createHash('sha256').update(headers['content-type'] ?? '')
  return `"${hash.update(body).digest('base64url').slice(0, 27)}"`
}

/** Sets all headers in one call, which is cheaper than one by one. */
function send(request: IncomingMessage, response: ServerResponse, answer: CachedResponse, headers: Headers): void {
  const isKnown = etagMatches(request, answer)
  if (!isKnown) response.writeHead(200, { ...headers, ...answer.headers }).end(answer.body)
  else {
    const { 'content-type': _, 'content-length': __, ...kept } = answer.headers
    response.writeHead(304, { ...headers, ...kept }).end()
  }
}

function etagMatches({ method, headers }: IncomingMessage, { headers: { etag = '' } }: CachedResponse): boolean {
  return (
    method === 'GET' && (headers['if-none-match'] ?? '').split(/, */).some((one) => one.replace(/^W\//, '') === etag)
  )
}

function notModified(response: ServerResponse, { headers: { etag = '' } }: CachedResponse): ServerResponse {
  response.removeHeader('content-type')
  response.setHeader('etag', etag)
  response.statusCode = 304
  return response.end()
}

const keepable = new WeakMap<DocumentNode, boolean>()

/** Whether responses depend on the log head alone. This holds for all queries that viewers may run. */
export function isOfHeadOnly(schema: GraphQLSchema, document: DocumentNode): boolean {
  const known = keepable.get(document)
  if (known !== undefined) return known
  let isKept = true
  const types = new TypeInfo(schema)
  const query = schema.getQueryType()
  visit(
    document,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        if (
          types.getParentType() === query &&
          node.name.value !== '__typename' &&
          accessOf(types.getFieldDef()) !== 'viewer'
        )
          isKept = false
      },
    }),
  )
  keepable.set(document, isKept)
  return isKept
}
