/**
 * GraphQL, which is loaded while the server takes reports: it has more than half of all modules. Requests that come before it is there wait for it.
 */
import type { Graphql, GraphqlDeps } from '../api/graphql/graphql.ts'
import { importInParts } from '../platform/import-in-parts.ts'

/** What GraphQL stands on, from the ground up. */
const libraries = [
  ...['graphql', '@envelop/core', '@graphql-tools/utils', '@graphql-tools/executor', '@graphql-tools/schema'],
  ...['@whatwg-node/server', 'graphql-yoga', 'graphql-ws', '@pothos/core'],
]

/** Milliseconds after the server listens in which it has only reports to answer. Devices that waited for the server send theirs then. */
const pause = 500

export type LateGraphql = Omit<Graphql, 'fetch'> & {
  /** Loads it now. Rejects with the reason if that fails: then the server can answer no query. */
  load(): Promise<void>
  /** Loads it soon, or with the first request that needs it. */
  loadSoon(): void
  /** Settles as `load` does. */
  readonly loaded: Promise<void>
}

async function loadGraphql(): Promise<typeof import('../api/graphql/graphql.ts')> {
  await importInParts(new URL('../api/graphql/graphql.ts', import.meta.url).href, libraries)
  return import('../api/graphql/graphql.ts')
}

export function createLateGraphql(deps: GraphqlDeps): LateGraphql {
  let graphql: Graphql | null = null
  let loading: Promise<Graphql> | null = null
  let soon: NodeJS.Timeout | undefined
  const { promise: loaded, resolve } = Promise.withResolvers<void>()
  const load = (): Promise<Graphql> => {
    if (loading) return loading
    loading = loadGraphql().then(({ createGraphql }) => {
      graphql = createGraphql(deps)
      return graphql
    })
    resolve(loading.then(() => undefined))
    return loading
  }
  /** At once, if it is there. `gone`: the caller, if it never will be. */
  function use(gone: { destroy(): void }, work: (graphql: Graphql) => void): void {
    if (graphql) work(graphql)
    else
      load().then(work, () => {
        gone.destroy()
      })
  }
  return {
    load: async () => void (await load()),
    loadSoon() {
      // `loaded` has what fails.
      soon = setTimeout(() => void load().catch(() => undefined), pause)
    },
    loaded,
    handle: (...asked) => use(asked[1], (graphql) => graphql.handle(...asked)),
    refuse: (...asked) => use(asked[1], (graphql) => graphql.refuse(...asked)),
    upgrade: (...asked) => use(asked[1], (graphql) => graphql.upgrade(...asked)),
    ownDocuments: {
      ask: async (...asked) => (await load()).ownDocuments.ask(...asked),
      follow: async (...asked) => (await load()).ownDocuments.follow(...asked),
    },
    async dispose() {
      clearTimeout(soon)
      if (loading) await (await loading).dispose()
    },
  }
}
