/** The whole server on a port of its own, on an empty store: what integration tests talk to, through real sockets. */

import type { Timeouts } from '../../../src/api/rest/guard.ts'
import type { Dialect } from '../../../src/ingest/dialects/dialect.ts'
import { createLog } from '../../../src/platform/log/log.ts'
import { type App, createApp } from '../../../src/server/app.ts'
import { parseConfig } from '../../../src/server/config/config.ts'
import type { Database } from '../../../src/store/database.ts'
import { type EmptyStore, type Store, usualStore } from '../databases/stores.ts'

export interface RunningApp {
  readonly app: App
  readonly database: Database
  readonly url: string
  readonly port: number
  /** What it has logged. */
  readonly logged: readonly Record<string, unknown>[]
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  query(document: string, variables?: object): Promise<any>
  /** Closes it and removes its store. */
  stop(): Promise<void>
}

export interface AppOptions {
  readonly store?: Store | undefined
  /** An empty store that outlives the app: another one may follow on it. */
  readonly on?: EmptyStore
  /** Git is off by default: to find it, each server would start a process. `GIT: 'git'` turns it on. */
  readonly env?: Record<string, string>
  readonly clock?: () => number
  /** The clock that its database begins with; absent: the machine's. */
  readonly begins?: () => number
  readonly timeouts?: Timeouts
  readonly dialects?: readonly Dialect[]
}

export async function startApp({
  store = usualStore,
  on,
  env = {},
  clock,
  begins,
  timeouts,
  dialects,
}: AppOptions = {}): Promise<RunningApp> {
  const empty = on ?? (await store.create())
  const logged: Record<string, unknown>[] = []
  const log = createLog({ level: 'info', to: { write: (line: string) => void logged.push(JSON.parse(line)) } })
  const config = parseConfig({ PORT: '0', GIT: 'off', ...env })
  const database = await empty.open(begins)
  const app = await createApp({
    config,
    database,
    log,
    ...(clock ? { clock } : {}),
    ...(timeouts ? { timeouts } : {}),
    ...(dialects ? { dialects } : {}),
  })
  const { url, port } = await app.listen()
  return {
    app,
    database,
    url,
    port,
    logged,
    post: (path, body, headers = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body),
      }),
    async query(document, variables = {}) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: document, variables }),
      })
      const { data, errors } = (await response.json()) as { data?: unknown; errors?: { message: string }[] }
      if (errors) throw new Error(errors.map(({ message }) => message).join('\n'))
      return data
    },
    async stop() {
      await app.close()
      if (!on) await empty.drop()
    },
  }
}
