/** The GraphQL API with a real store, writer and feed, behind a real server. */
import { createServer } from 'node:http'
import { createGraphql, type Graphql, type GraphqlDeps } from '../../src/api/graphql/graphql.ts'
import type { StatusReport } from '../../src/domain/report.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { createSinkManager } from '../../src/outlets/sinks/manage.ts'
import type { Database, Snapshot } from '../../src/store/database.ts'
import { report } from '../support/clients/reports.ts'
import { type Store, usualStore } from '../support/databases/stores.ts'
import { createRoad, type Road } from '../support/servers/road.ts'

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape that it selected.
  readonly data?: any
  readonly errors?: readonly { message: string; path?: readonly unknown[]; extensions?: Record<string, unknown> }[]
}

export interface LoggedError {
  readonly fields: object
  readonly message: string
}

export interface Api {
  readonly road: Road
  readonly graphql: Graphql
  readonly url: string
  readonly logged: readonly LoggedError[]
  /** Number of statements on snapshots since the last call. */
  statements(): number
  openSnapshots(): number
  /** Breaks the connections like a network failure. */
  cutConnections(): void
  query(document: string, variables?: object, as?: string): Promise<Answer>
  /** Fails on errors. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape that it selected.
  ask(document: string, variables?: object, as?: string): Promise<any>
  report(some: Partial<StatusReport>): ReturnType<Road['writer']['submit']>
  close(): Promise<void>
}

export interface ApiOptions {
  readonly store?: Store | undefined
  readonly graphql?: Partial<GraphqlDeps> | ((road: Road) => Partial<GraphqlDeps>)
  readonly road?: Parameters<typeof createRoad>[1]
}

export async function startApi(options: ApiOptions = {}): Promise<Api> {
  const store = options.store ?? usualStore
  const empty = await store.create()
  const counted = countStatements(await empty.open())
  const road = await createRoad(counted.database, options.road)
  const logged: LoggedError[] = []
  const graphql = createGraphql({
    database: counted.database,
    writer: road.writer,
    feed: road.feed,
    sinks: createSinkManager({
      database: counted.database,
      refuseTarget: () => null,
      refresh: () => {},
      sendTest: async () => ({ status: null, error: null }),
      clock: Date.now,
    }),
    log: { error: (fields, message) => void logged.push({ fields, message }) },
    graphiql: true,
    clock: options.road?.writer?.clock ?? Date.now,
    ...(typeof options.graphql === 'function' ? options.graphql(road) : options.graphql),
  })
  const server = createServer(graphql.handle)
  server.on('upgrade', graphql.upgrade)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/graphql`

  /** `as`: the credential. */
  async function query(document: string, variables: object = {}, as?: string): Promise<Answer> {
    const response = await graphql.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(as === undefined ? {} : { authorization: `Bearer ${as}` }) },
      body: JSON.stringify({ query: document, variables }),
    })
    return (await response.json()) as Answer
  }

  return {
    road,
    graphql,
    url,
    logged,
    statements: counted.statements,
    openSnapshots: counted.openSnapshots,
    cutConnections: () => server.closeAllConnections(),
    query,
    async ask(document, variables, as) {
      const { data, errors } = await query(document, variables, as)
      if (errors) throw new Error(errors.map(({ message }) => message).join('\n'))
      return data
    },
    report: (some) => road.writer.submit(recordReport(report(some))),
    async close() {
      await graphql.dispose()
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
      await road.close()
      await empty.drop()
    },
  }
}

/** Counts statements. Nothing is replaced. */
function countStatements(database: Database) {
  let statements = 0
  let open = 0
  const counted: Database = {
    ...database,
    async snapshot(signal) {
      const snapshot = await database.snapshot(signal)
      open += 1
      const own: Snapshot = {
        head: snapshot.head,
        derived: snapshot.derived,
        kind: snapshot.kind,
        isWanted: snapshot.isWanted,
        rows: (query) => {
          statements += 1
          return snapshot.rows(query)
        },
        run: (text, parameters) => {
          statements += 1
          return snapshot.run(text, parameters)
        },
        close: () => {
          open -= 1
          return snapshot.close()
        },
      }
      return own
    },
  }
  return {
    database: counted,
    statements: () => {
      const count = statements
      statements = 0
      return count
    },
    openSnapshots: () => open,
  }
}
