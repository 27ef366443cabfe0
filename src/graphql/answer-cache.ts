/**
 * Answers to questions that were asked before, for as long as nothing has been written since. Everything the API tells of the fleet is
 * written in batches that move the log's head; so an answer with the head's stamp is, byte for byte, what executing would answer now.
 *
 *   plain request ──▶ who asks? ──▶ known question? ──▶ is the head still that of the answer? ──▶ the bytes
 *                                       │no                  │no
 *                                       └────────────────────┴──▶ executed; the answer is kept if it may be, and was asked for before
 *
 * The head is read for each request, by one statement for all that wait for it: no answer is older than its question. Questions that are
 * the same and asked at once are executed once. What is written outside of batches is never kept.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DocumentNode, type GraphQLSchema, Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql'
import { LRUCache } from 'lru-cache'
import { createAttachment } from '../attachment.ts'
import { ofHeaders, readCredentials } from '../auth/api/credentials.ts'
import { type Identity, rightsKey } from '../domain/identity.ts'
import type { Addresses } from '../limits/address.ts'
import type { Database, LogHead } from '../store/database.ts'
import { readHead } from '../store/log-head.ts'
import { accessOf } from './access.ts'
import type { Authentication } from './authentication.ts'
import type { KnownDocuments } from './known-documents.ts'
import { isOwnPage } from './origin.ts'

export interface AnswerCache {
  /** Answers from memory, or lets `ask` answer. `headers`: what the answer says besides. */
  handle(request: IncomingMessage, response: ServerResponse, headers?: Headers): void
  /** What is being answered to this request, by this document, is what it is at this head, and nothing else. */
  note(request: IncomingMessage, head: LogHead, document: DocumentNode): void
}

export interface AnswerCacheDeps {
  readonly database: Pick<Database, 'session'>
  readonly identify: Authentication['identify']
  readonly addresses: Pick<Addresses, 'of'>
  readonly origins: readonly string[]
  readonly documents: Pick<KnownDocuments, 'learn' | 'answer'>
  /** Yoga. */
  readonly ask: (request: IncomingMessage, response: ServerResponse) => unknown
}

/** Bytes: of a question, of an answer, of all answers. */
const longestQuestion = 16 * 1024
const longestAnswer = 1024 * 1024
const mostBytes = 64 * 1024 * 1024

type Headers = Readonly<Record<string, string>>

interface Whole {
  readonly headers: Headers
  readonly body: Buffer
}

interface Answer extends Whole {
  readonly stamp: string
}

interface Asked {
  readonly key: string
  readonly identity: Identity
}

export function createAnswerCache(deps: AnswerCacheDeps): AnswerCache {
  const { database, identify, addresses, origins, documents } = deps
  const answers = new LRUCache<string, Answer>({ maxSize: mostBytes, sizeCalculation: ({ body }) => body.length + 512 })
  const wasAsked = createMemory()
  const underWay = new Map<string, Promise<void>>()
  const notes = createAttachment<IncomingMessage, { readonly stamp: string; readonly document: DocumentNode }>('note')
  const currentStamp = sharing(async () => stampOf(await readHead(database.session)))

  function ask(request: IncomingMessage, response: ServerResponse, headers: Headers): void {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    deps.ask(request, response)
  }

  async function answer(request: IncomingMessage, response: ServerResponse, headers: Headers): Promise<void> {
    const question = await readQuestion(request)
    const asked = await identified(request, question)
    if (asked === null) return ask(request, response, headers)
    const { key, identity } = asked
    // Whoever asked the same just before may be about to answer it.
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
    const plain = await documents.answer(request, identity)
    if (plain) {
      const whole = { ...plain, headers: { ...plain.headers, etag: etagOf(plain) } }
      const kept = keep(request, key, whole)
      answering.resolve()
      return send(request, response, kept, headers)
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    intercept(response, (whole) => {
      answering.resolve()
      const note = notes.get(request)
      if (!whole || !note) return null
      const { etag: _, ...headers } = whole.headers
      documents.learn(request, note.document, headers)
      const kept = keep(request, key, whole)
      return etagMatches(request, kept) ? kept : null
    })
    deps.ask(request, response)
  }

  /** Remembers it, if it may be. */
  function keep(request: IncomingMessage, key: string, { headers, body }: Whole): Whole {
    const whole = { headers: { ...headers, 'content-length': String(body.length) }, body }
    const stamp = notes.get(request)?.stamp
    // Most that is asked is never asked again.
    const isKept = (wasAsked(key) || answers.has(key)) && body.length <= longestAnswer
    if (stamp !== undefined && isKept) answers.set(key, { ...whole, stamp })
    return whole
  }

  /** Null: Yoga says what is wrong with it. */
  async function identified(request: IncomingMessage, question: string): Promise<Asked | null> {
    const get = ofHeaders(request.headers)
    const presented = readCredentials(get, addresses.of(request))
    if (presented.cookie !== null && presented.token === null && !isOwnPage(get, origins)) return null
    try {
      const identity = await identify(request, presented)
      return { identity, key: `${rightsKey(identity)}\n${request.headers.accept ?? ''}\n${question}` }
    } catch {
      return null
    }
  }

  return {
    handle(request, response, headers = {}) {
      if (!isPlain(request, origins)) return ask(request, response, headers)
      answer(request, response, headers).catch(() => {
        // The database is away, or the request is: who executes it knows what to say.
        if (!response.headersSent && !response.destroyed) ask(request, response, headers)
      })
    },
    note: (request, head, document) => void notes.set(request, { stamp: stampOf(head), document }),
  }
}

/** Tells whether it was told that before, most likely: it may forget one for another, and hardly ever takes one for another. */
function createMemory(): (text: string) => boolean {
  const told = new Int32Array(65_536)
  return (text) => {
    let hash = 17
    for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
    const place = hash >>> 16
    const isKnown = told[place] === hash
    told[place] = hash
    return isKnown
  }
}

/** A question that a program asks: JSON in one piece and JSON back. */
function isPlain({ method, headers, url = '' }: IncomingMessage, origins: readonly string[]): boolean {
  const { accept = '*/*', origin } = headers
  if (accept.length > 200 || /text\/|multipart/.test(accept)) return false
  // What CORS says depends on who asks.
  if (origin !== undefined && origins.length > 0) return false
  if (method === 'GET') return url.includes('query=') && url.length <= longestQuestion
  if (method !== 'POST' || url !== '/graphql' || headers['content-encoding'] !== undefined) return false
  const length = Number(headers['content-length'])
  return (
    length > 0 &&
    length <= longestQuestion &&
    /^application\/json(; *charset=utf-8)?$/i.test(headers['content-type'] ?? '')
  )
}

/** Never, when it is never finished. Whoever reads it next finds it in `body`, as Node's frameworks leave it there. */
function readQuestion(request: IncomingMessage & { body?: Buffer }): Promise<string> {
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

/** Work that many wait for: whoever comes while it is being done waits for the next, because this one may have begun too early for him. */
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

/** Holds a whole answer back until it is known, so that it can be given its ETag. `whole`: null when it is none that can be kept. */
function intercept(response: ServerResponse, finish: (whole: Whole | null) => Whole | null): void {
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
      // A stream, or a refusal: nothing to hold back.
      give()
      finish(null)
      return response.writeHead(status)
    },
    write(chunk: string | Uint8Array, ...more: readonly unknown[]) {
      parts.push(Buffer.from(chunk as string))
      const told = more.find((one) => typeof one === 'function') as (() => void) | undefined
      told?.()
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
      const told = [chunk, ...more].find((one) => typeof one === 'function') as (() => void) | undefined
      return response.end(body, told)
    },
  })
}

function etagOf({ headers, body }: Whole): string {
  const hash = createHash('sha256').update(headers['content-type'] ?? '')
  return `"${hash.update(body).digest('base64url').slice(0, 27)}"`
}

/** All headers in one call, which is cheaper than one by one. */
function send(request: IncomingMessage, response: ServerResponse, answer: Whole, headers: Headers): void {
  const isKnown = etagMatches(request, answer)
  if (!isKnown) response.writeHead(200, { ...headers, ...answer.headers }).end(answer.body)
  else response.writeHead(304, { ...headers, etag: answer.headers.etag }).end()
}

function etagMatches({ method, headers }: IncomingMessage, { headers: { etag = '' } }: Whole): boolean {
  return (
    method === 'GET' && (headers['if-none-match'] ?? '').split(/, */).some((one) => one.replace(/^W\//, '') === etag)
  )
}

function notModified(response: ServerResponse, { headers: { etag = '' } }: Whole): ServerResponse {
  response.removeHeader('content-type')
  response.setHeader('etag', etag)
  response.statusCode = 304
  return response.end()
}

const keepable = new WeakMap<DocumentNode, boolean>()

/** Whether its answers are of the log's head and of nothing else: what viewers read is, also of the past. */
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
