/**
 * The whole server, composed by hand: database → writer → feed → GraphQL and REST. Used by main.ts and by the tests.
 *
 *   close: not ready (503) → no new connections → streams end (1001) → queued reports are written → connections end → database
 */
import type { AddressInfo } from 'node:net'
import { defaultTimeouts } from '../api/rest/guard.ts'
import { dialects as allDialects } from '../ingest/dialects/index.ts'
import type { Metrics } from '../outlets/metrics/metrics.ts'
import type { Database } from '../store/database.ts'
import { startBackground } from './background.ts'
import { type AppDeps, startCore } from './core.ts'
import { createParts } from './parts.ts'
import { startServing } from './serving.ts'

export interface App {
  readonly database: Database
  readonly metrics: Metrics
  listen(): Promise<{ readonly url: string; readonly port: number }>
  /** Reads the TLS files again, and asks identity services. False: neither is configured. */
  reload(): Promise<boolean>
  /** False: a background duty has not ended, for example because the directory of the archive does not answer. */
  close(): Promise<boolean>
}

export async function createApp({
  dialects = allDialects,
  timeouts = defaultTimeouts,
  ...deps
}: AppDeps): Promise<App> {
  const parts = createParts()
  const core = await startCore(parts, { ...deps, dialects, timeouts })
  const background = await startBackground(parts, core)
  const server = await startServing(parts, core, background)
  const { config, database, metrics, tls, trust } = core
  let closed: Promise<boolean> | null = null
  return {
    database,
    metrics,
    listen: () =>
      new Promise((resolve, reject) => {
        const { host, port } = config.server
        server.once('error', reject)
        server.listen(port, host, () => {
          const address = server.address() as AddressInfo
          const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
          resolve({ url: `${tls === null ? 'http' : 'https'}://${name}:${address.port}`, port: address.port })
        })
      }),
    async reload() {
      // In this order: a new certificate may name the server in another trust domain.
      await tls?.reload()
      await trust?.reload()
      return tls !== null || trust !== null
    },
    close() {
      closed ??= parts.stop().then(background.isEnded)
      return closed
    },
  }
}
