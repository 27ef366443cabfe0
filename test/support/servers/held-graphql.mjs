// @ts-check
/** Preloaded into a server: GraphQL is loaded only after SIGUSR2, or with GRAPHQL_FAILS never. */
import { registerHooks } from 'node:module'

const { promise, resolve } = Promise.withResolvers()
Object.assign(globalThis, { graphqlIsHeld: promise })
process.on('SIGUSR2', resolve)

const first = process.env.GRAPHQL_FAILS ? `throw new Error('a library is broken')` : 'await globalThis.graphqlIsHeld'

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    return url.endsWith('/src/api/graphql/graphql.ts') ? { ...loaded, source: `${first}\n${loaded.source}` } : loaded
  },
})
