/**
 * Automatic persisted queries, as Apollo's clients send them (Apollo Server, "Automatic persisted queries"): first the hash of a document alone, and
 * hash and document if the server does not know it. A hash gives no right: the document is executed as if it had been sent.
 *
 * `@graphql-yoga/plugin-apq` was rejected: it needs an older major version of `@graphql-tools/utils` beside the one that other packages need.
 */
import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { maxDocumentSize } from './limits.ts'
import { hashOf, persistedHash } from './persisted-documents.ts'

/** Characters of all documents. One that a new one displaces is sent again. */
const mostKept = 4 << 20
/** Characters that an entry takes beside its text. */
const entrySize = 256

/** Clients read the error, and some of them only in a 200. */
const notFound = () => refusal('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 200)

export function useAutomaticDocuments(): Plugin {
  const texts = new LRUCache<string, string>({
    maxSize: mostKept,
    sizeCalculation: ({ length }) => entrySize + length,
  })
  return {
    onParams({ params, setParams }) {
      const hash = persistedHash(params)
      if (hash === null) return
      const { query } = params
      if (typeof query !== 'string' || query === '') {
        const known = texts.get(hash)
        if (known === undefined) throw notFound()
        setParams({ ...params, query: known })
        return
      }
      // Longer documents are refused when they are parsed.
      if (query.length > maxDocumentSize) return
      if (hashOf(query) !== hash) throw refusal('provided sha does not match query', 'BAD_REQUEST', 400)
      texts.set(hash, query)
    },
  }
}

function refusal(message: string, code: string, status: number): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { spec: status !== 200, status } } })
}
