/**
 * Restricts execution to listed documents. The file has one of these formats:
 *
 *   {"<id>": "<document>", …}        as written by Relay, GraphQL Codegen and others
 *   {"operations": [{"id", "body"}]} an Apollo manifest
 *   ["<document>", …]                identified by the SHA-256 of their text
 *
 * A request selects a document by `documentId` ("sha256:…" or an ID of the file), by
 * `extensions.persistedQuery.sha256Hash`, or by its text.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { GraphQLError, type GraphQLSchema, parse, validate } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { z } from 'zod'
import { DomainError } from '../../../domain/errors.ts'
import type { Refuse } from '../../../platform/limits/limits.ts'
import { maxDocumentSize, orRefusal } from './limits.ts'

/** Documents by ID and by hash. */
export type PersistedDocuments = ReadonlyMap<string, string>

interface DocumentRequest {
  readonly query?: unknown
  readonly documentId?: unknown
  readonly extensions?: unknown
}

/** The document that a request selects. Throws if it is not listed. */
export type FindDocument = (request: DocumentRequest) => string

const file = z.union([
  z
    .object({ operations: z.array(z.object({ id: z.string(), body: z.string() })) })
    .transform(({ operations }) => operations.map(({ id, body }) => [id, body] as const)),
  z.array(z.string()).transform((texts) => texts.map((text) => [hashOf(text), text] as const)),
  z.record(z.string(), z.string()).transform((texts) => Object.entries(texts)),
])

/**
 * Throws a message for the operator at startup. Otherwise only clients would notice an invalid list.
 * `own`: further documents to allow, by text or hash.
 */
export async function readPersistedDocuments(
  path: string,
  schema: GraphQLSchema,
  own: readonly string[] = [],
): Promise<PersistedDocuments> {
  const invalid = (what: string): DomainError =>
    new DomainError('INVALID_REQUEST', `PERSISTED_DOCUMENTS ${path}: ${what}`)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw invalid(`cannot be read (${error.code})`)
  })
  const { success, data = [] } = file.safeParse(parseJson(text))
  if (!success) throw invalid('must be JSON: an object of documents by ID, a list of documents, or an Apollo manifest')
  for (const [id, document] of data) {
    const problem = problemOf(document, schema)
    if (problem !== null) throw invalid(`the document ${id.slice(0, 80)} is not valid: ${problem}`)
  }
  const listed = data.flatMap(([id, document]) => [[hashOf(document), document] as const, [id, document] as const])
  return new Map([...own.map((document) => [hashOf(document), document] as const), ...listed])
}

export function createFindDocument(documents: PersistedDocuments, refuse: Refuse): FindDocument {
  return (request) => {
    const id = idOf(request)
    const text = documents.get(id)
    if (text !== undefined) return text
    const message = 'this server executes only listed documents (PERSISTED_DOCUMENTS), and this document is not listed'
    throw refuse('unlistedDocument', message)
  }
}

export function usePersistedDocuments(find: FindDocument): Plugin {
  return {
    onParams({ params, request, setParams }) {
      const { documentId } = params as DocumentRequest
      const id = documentId ?? new URL(request.url).searchParams.get('documentId')
      try {
        setParams({ ...params, query: orRefusal(() => find({ ...params, documentId: id })) })
      } catch (error) {
        // A client that sends hashes sends texts from now on.
        if (error instanceof GraphQLError && persistedHash(params) !== null)
          error.extensions.code = 'PERSISTED_QUERY_NOT_SUPPORTED'
        throw error
      }
    },
  }
}

/** The hash by which Apollo's clients select a document, in small letters. Null: the request has none. */
export function persistedHash({ extensions }: DocumentRequest): string | null {
  const { persistedQuery } = Object(extensions) as { readonly persistedQuery?: unknown }
  const { sha256Hash } = Object(persistedQuery) as { readonly sha256Hash?: unknown }
  return typeof sha256Hash === 'string' ? sha256Hash.toLowerCase() : null
}

/** The ID or hash in a request. The document's text counts only if there is neither. */
function idOf(request: DocumentRequest): string {
  const { documentId, query } = request
  const id = documentId ?? persistedHash(request)
  if (typeof id === 'string') return id.replace(/^sha256:/, '')
  return typeof query === 'string' && query.length <= maxDocumentSize ? hashOf(query) : ''
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function problemOf(document: string, schema: GraphQLSchema): string | null {
  try {
    return validate(schema, parse(document))[0]?.message ?? null
  } catch (error) {
    return (error as Error).message
  }
}
