/**
 * A document that Yoga has found valid and answered before is executed without it, whatever the variables are this time: what Yoga does around
 * an execution (requests, streams, hooks for each) costs about as much. The headers are those that it gave to the document then.
 *
 *   question ──▶ only query, variables, operation? ──▶ known document? ──▶ execute ──▶ no errors? ──▶ the bytes
 *                        │no                                │no                           │no
 *                        └──────────────────────────────────┴─────────▶ Yoga ◀── result ──┘
 */
import type { IncomingMessage } from 'node:http'
import type { DocumentNode, ExecutionResult } from 'graphql'
import { LRUCache } from 'lru-cache'
import { createAttachment } from '../attachment.ts'
import type { Identity } from '../domain/identity.ts'

export interface PlainQuestion {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>> | undefined
  readonly operationName: string | undefined
}

export interface PlainAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface KnownDocuments {
  /** Yoga answered the question so, after it had executed that document. */
  learn(request: IncomingMessage, document: DocumentNode, headers: Readonly<Record<string, string>>): void
  /** Null: Yoga has to answer it. */
  answer(request: IncomingMessage, identity: Identity): Promise<PlainAnswer | null>
  /** What has been executed for this request already; undefined: nothing. */
  resultFor(request: IncomingMessage): Promise<ExecutionResult> | undefined
}

export type ExecuteDocument = (
  request: IncomingMessage,
  identity: Identity,
  document: DocumentNode,
  question: PlainQuestion,
) => Promise<ExecutionResult>

/** Characters of all documents: their trees take some thirty times as much. */
const keptText = 512 * 1024

interface Known {
  readonly document: DocumentNode
  readonly headers: Readonly<Record<string, string>>
}

export function createKnownDocuments(execute: ExecuteDocument): KnownDocuments {
  const known = new LRUCache<string, Known>({ maxSize: keptText, sizeCalculation: (_, key) => key.length })
  const results = createAttachment<IncomingMessage, Promise<ExecutionResult>>('result')

  return {
    learn(request, document, headers) {
      const question = questionOf(request)
      if (question) known.set(keyOf(request, question), { document, headers })
    },
    async answer(request, identity) {
      const question = questionOf(request)
      const found = question && known.get(keyOf(request, question))
      if (!found) return null
      const executing = execute(request, identity, found.document, question)
      const result = await executing.catch(() => null)
      if (result && !result.errors) return { headers: found.headers, body: Buffer.from(JSON.stringify(result)) }
      results.set(request, executing)
      return null
    },
    resultFor: (request) => results.get(request),
  }
}

/** What Yoga answers depends on nothing else, who asks apart. */
function keyOf({ headers }: IncomingMessage, { query, operationName }: PlainQuestion): string {
  return JSON.stringify([headers.accept, operationName, query])
}

/** Null: there is something in it that Yoga may want to see, or to refuse. */
function questionOf({ method, body }: IncomingMessage & { readonly body?: Buffer }): PlainQuestion | null {
  if (method !== 'POST' || !body) return null
  const asked = parse(body)
  if (!isObject(asked)) return null
  const { query, variables, operationName, extensions, ...others } = asked
  if (typeof query !== 'string' || Object.keys(others).length > 0) return null
  if (!isObject(variables ?? {}) || typeof (operationName ?? '') !== 'string') return null
  if (!isObject(extensions ?? {}) || 'persistedQuery' in Object(extensions)) return null
  return {
    query,
    variables: (variables ?? undefined) as PlainQuestion['variables'],
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
