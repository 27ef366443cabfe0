/**
 * Executes a document without Yoga if Yoga has validated and answered it before, with any variables. Yoga's work around
 * an execution (requests, streams, hooks) costs about as much as the execution. The response has the headers that Yoga
 * gave to that document.
 *
 *   request ──▶ only query, variables, operation? ──▶ known document? ──▶ execute ──▶ no errors? ──▶ send the bytes
 *                        │no                                │no                           │no
 *                        └──────────────────────────────────┴─────────▶ Yoga ◀── result ──┘
 */
import type { IncomingMessage } from 'node:http'
import type { DocumentNode, ExecutionResult } from 'graphql'
import { LRUCache } from 'lru-cache'
import { createAttachment } from '../../attachment.ts'
import type { Principal } from '../../domain/principal.ts'

export interface PlainRequest {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>> | undefined
  readonly operationName: string | undefined
}

export interface PlainResponse {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface DocumentFastPath {
  /** Records the headers of Yoga's response to that document. */
  learn(request: IncomingMessage, document: DocumentNode, headers: Readonly<Record<string, string>>): void
  /** Null: Yoga must answer the request. */
  answer(request: IncomingMessage, principal: Principal): Promise<PlainResponse | null>
  /** The result of an execution for this request, if there was one. */
  resultFor(request: IncomingMessage): Promise<ExecutionResult> | undefined
}

export type ExecuteDocument = (
  request: IncomingMessage,
  principal: Principal,
  document: DocumentNode,
  question: PlainRequest,
) => Promise<ExecutionResult>

/** Characters of all cached documents. Their trees take about thirty times as much memory. */
const keptText = 512 * 1024

interface Known {
  readonly document: DocumentNode
  readonly headers: Readonly<Record<string, string>>
}

export function createDocumentFastPath(execute: ExecuteDocument): DocumentFastPath {
  const known = new LRUCache<string, Known>({ maxSize: keptText, sizeCalculation: (_, key) => key.length })
  const results = createAttachment<IncomingMessage, Promise<ExecutionResult>>('result')

  return {
    learn(request, document, headers) {
      const question = plainRequestOf(request)
      if (question) known.set(keyOf(request, question), { document, headers })
    },
    async answer(request, principal) {
      const question = plainRequestOf(request)
      const found = question && known.get(keyOf(request, question))
      if (!found) return null
      const executing = execute(request, principal, found.document, question)
      const result = await executing.catch(() => null)
      if (result && !result.errors) return { headers: found.headers, body: Buffer.from(JSON.stringify(result)) }
      results.set(request, executing)
      return null
    },
    resultFor: (request) => results.get(request),
  }
}

/** Besides the caller, Yoga's response depends only on these values. */
function keyOf({ headers }: IncomingMessage, { query, operationName }: PlainRequest): string {
  return JSON.stringify([headers.accept, operationName, query])
}

/** Null: the request has parts that Yoga must handle or refuse. */
function plainRequestOf({ method, body }: IncomingMessage & { readonly body?: Buffer }): PlainRequest | null {
  if (method !== 'POST' || !body) return null
  const asked = parse(body)
  if (!isObject(asked)) return null
  const { query, variables, operationName, extensions, ...others } = asked
  if (typeof query !== 'string' || Object.keys(others).length > 0) return null
  if (!isObject(variables ?? {}) || typeof (operationName ?? '') !== 'string') return null
  if (!isObject(extensions ?? {}) || 'persistedQuery' in Object(extensions)) return null
  return {
    query,
    variables: (variables ?? undefined) as PlainRequest['variables'],
    operationName: (operationName ?? undefined) as string | undefined,
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return null
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
