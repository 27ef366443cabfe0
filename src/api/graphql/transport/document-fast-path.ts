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
import type { CompleteResponse, Headers } from './entity-tag.ts'
import { type Question, questionOf } from './plain-request.ts'
import type { RequestState } from './request-state.ts'

export interface DocumentFastPath {
  /** Records the headers of Yoga's response to that document. */
  learn(request: IncomingMessage, document: DocumentNode, headers: Headers): void
  /** Null: Yoga must answer the request, from `state.executed` if that is set. */
  answer(request: IncomingMessage, state: RequestState): Promise<CompleteResponse | null>
}

type ExecuteDocument = (state: RequestState, document: DocumentNode, question: Question) => Promise<ExecutionResult>

/** Characters of all cached documents. Their trees take about thirty times as much memory. */
const maxText = 512 * 1024

interface Known {
  readonly document: DocumentNode
  readonly headers: Headers
}

export function createDocumentFastPath(execute: ExecuteDocument): DocumentFastPath {
  const known = new LRUCache<string, Known>({ maxSize: maxText, sizeCalculation: (_, key) => key.length })

  return {
    learn(request, document, headers) {
      const question = questionOf(request)
      if (question) known.set(keyOf(request, question), { document, headers })
    },
    async answer(request, state) {
      const question = questionOf(request)
      const found = question && known.get(keyOf(request, question))
      if (!found) return null
      const executing = execute(state, found.document, question)
      const result = await executing.catch(() => null)
      if (result && !result.errors) return { headers: found.headers, body: Buffer.from(JSON.stringify(result)) }
      state.executed = executing
      return null
    },
  }
}

/** Besides the caller, Yoga's response depends only on these values. */
function keyOf({ headers }: IncomingMessage, { query, operationName }: Question): string {
  return JSON.stringify([headers.accept, operationName, query])
}
