/** What all parts stand on: time, metrics, connections, the log's live end, and the writer. */

import type { Server } from 'node:http'
import { createGit } from '../api/git/git.ts'
import { createHistory } from '../api/git/history.ts'
import { readPersistedDocuments } from '../api/graphql/guards/persisted-documents.ts'
import { readRuleFile } from '../api/graphql/mutations/alert-rule-file.ts'
import { schema } from '../api/graphql/schema.ts'
import type { Timeouts } from '../api/rest/guard.ts'
import { readPageDocuments } from '../api/rest/page/page-documents.ts'
import { certificatesIn } from '../api/rest/tls/tls-files.ts'
import { watchTls } from '../api/rest/tls/tls-watch.ts'
import { createFeed } from '../feed/feed.ts'
import { applyRuleFile } from '../ingest/commands/alert-rules.ts'
import type { Dialect } from '../ingest/dialects/dialect.ts'
import { createWriter } from '../ingest/writer.ts'
import { createMetrics } from '../outlets/metrics/metrics.ts'
import { createAdmission } from '../platform/limits/admission.ts'
import type { Log } from '../platform/log/log.ts'
import { within } from '../platform/timing/within.ts'
import { createDatabaseClock } from '../store/connection/clock.ts'
import { ensureEpoch, restartEpoch } from '../store/connection/epoch.ts'
import { isTransient } from '../store/connection/failure.ts'
import type { Database } from '../store/database.ts'
import { requireComplete } from '../store/migration/complete.ts'
import { openRequestTraces, openTrust, readAssistantDocuments } from './attachments.ts'
import type { Config } from './config/config.ts'
import { logEpoch, logStandbys } from './log/database-events.ts'
import { createOutage } from './log/outage.ts'
import type { Parts } from './parts.ts'

/** Milliseconds for the last spans, at the end of a server: those of rollouts are sent again, and those of requests may be lost. */
export const collectorTimeout = 3_000

export interface AppDeps {
  readonly config: Config
  /** Closed with the app. */
  readonly database: Database
  readonly log: Log
  /** Absent: the database's clock, which all replicas share. */
  readonly clock?: () => number
  /** Absent: those of dialects/index.ts. */
  readonly dialects?: readonly Dialect[]
  /** Time-outs for slow and silent clients. */
  readonly timeouts?: Timeouts
}

export type Core = Awaited<ReturnType<typeof startCore>>

type CoreDeps = AppDeps & Required<Pick<AppDeps, 'dialects' | 'timeouts'>>

export async function startCore(parts: Parts, { config, log, dialects, timeouts, ...deps }: CoreDeps) {
  const { closing: closeTimeout = 10_000 } = timeouts
  const database = parts.add(deps.database, (database) => database.close())
  const { now: clock } = parts.add(
    deps.clock ? { now: deps.clock, close() {} } : await createDatabaseClock(database),
    (clock) => clock.close(),
  )
  const { persistedDocuments, tls: tlsConfig, trustedProxies } = config.server
  const documents =
    persistedDocuments === null
      ? null
      : await readPersistedDocuments(persistedDocuments, schema, [
          ...(await readPageDocuments()),
          ...(await readAssistantDocuments()),
        ])
  const rules = config.alertRules === null ? null : await readRuleFile(config.alertRules, schema)
  const tls = parts.add(
    tlsConfig && (await watchTls({ config: tlsConfig, log, clock, interval: timeouts.tlsFiles })),
    (tls) => tls.close(),
  )
  const trust = parts.add(
    await openTrust(config, {
      own: () => (tls ? certificatesIn(tls.files().cert) : []),
      log,
      clock,
      interval: timeouts.tlsFiles,
    }),
    (trust) => trust.close(),
  )
  tls?.follow((files, before) => files.cert !== before.cert && trust?.ownReplaced())
  const metrics = createMetrics(dialects)
  const outage = createOutage({ log, ping: () => requireComplete(database.session), clock })
  const warn = outage.note
  const admission = createAdmission({
    limits: config.limits,
    bodyTimeout: timeouts.body,
    readingTimeout: timeouts.reading,
    proxies: trustedProxies,
    observe: metrics.limited,
    clock,
  })
  const git = parts.add(
    await createGit({
      config: config.git,
      history: createHistory(database),
      limits: config.limits.git,
      refuse: admission.refuse,
      log,
      clock,
    }),
    (git) => git.close(),
  )
  const requests = parts.add(
    await openRequestTraces(config, { metrics, log, interval: timeouts.spans }),
    (requests) => requests.stop(),
    collectorTimeout,
  )
  const connections = parts.add(createConnections(), (connections) => connections.end())
  logStandbys(database.standbys, log)
  const feed = parts.add(
    await createFeed({
      database,
      restored: async (seen) => logEpoch(log)(await restartEpoch(database, clock(), seen)),
      failed: warn('the log cannot be read: trying again'),
    }),
    (feed) => feed.close(),
  )
  const writer = parts.add(
    (requests?.createWriter ?? createWriter)({
      database,
      committed: (since, changes) => feed.hub.publish(since, changes),
      isTransient,
      // The hub may also have published writes of another server.
      checkIdentity: async (session, newestSeen) =>
        logEpoch(log)(await ensureEpoch(session, clock(), Math.max(newestSeen, feed.hub.last))),
      observe: metrics.batchCommitted,
      offlineAfter: config.offlineAfter,
      ...(timeouts.commit && { commitTimeout: timeouts.commit }),
      clock,
    }),
    (writer) => writer.drain(),
    closeTimeout,
  )
  if (rules !== null) await writer.submit(applyRuleFile(rules))
  const ground = {
    config,
    dialects,
    timeouts,
    closeTimeout,
    database,
    log,
    clock,
    documents,
    tls,
    trust,
    metrics,
    outage,
    warn,
  }
  return { ...ground, admission, git, requests, connections, feed, writer }
}

/** The connections of callers. They end after the writer has answered what it has accepted. */
function createConnections() {
  let server: Server | null = null
  let isClosing = false
  let closed: Promise<void> = Promise.resolve()
  return {
    isClosing: () => isClosing,
    use(created: Server): void {
      server = created
    },
    /** Accepts no more of them. */
    refuse(): void {
      isClosing = true
      closed = new Promise((resolve) => server?.close(() => resolve()))
    },
    async end(): Promise<void> {
      server?.closeIdleConnections()
      await within(1_000, closed)
      server?.closeAllConnections()
    },
  }
}
