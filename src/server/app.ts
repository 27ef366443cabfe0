/**
 * The whole server, composed by hand: database → writer → feed → GraphQL and REST. Used by main.ts and by the tests.
 *
 *   close: not ready (503) → no new connections → streams end (1001) → queued reports are written → connections end → database
 */
import type { AddressInfo } from 'node:net'
import { createGit } from '../api/git/git.ts'
import { createHistory } from '../api/git/history.ts'
import { createGraphql } from '../api/graphql/graphql.ts'
import { readPersistedDocuments } from '../api/graphql/guards/persisted-documents.ts'
import { readRuleFile } from '../api/graphql/mutations/alert-rule-file.ts'
import { schema } from '../api/graphql/schema.ts'
import { acceptUpgrades } from '../api/graphql/transport/upgrade.ts'
import { repositoryPath } from '../api/rest/devices/git.ts'
import { defaultTimeouts, type Timeouts } from '../api/rest/guard.ts'
import { readPageDocuments } from '../api/rest/page/page-documents.ts'
import { createHttpServer } from '../api/rest/server.ts'
import { watchTls } from '../api/rest/tls/tls-watch.ts'
import { createFeed } from '../feed/feed.ts'
import { createClusters } from '../ingest/clusters/clusters.ts'
import { applyRuleFile } from '../ingest/commands/alert-rules.ts'
import type { Dialect } from '../ingest/dialects/dialect.ts'
import { dialects as allDialects } from '../ingest/dialects/index.ts'
import { createMaintenance } from '../ingest/duties/maintenance.ts'
import { createHeartbeats } from '../ingest/heartbeats.ts'
import { createWriter } from '../ingest/writer.ts'
import { createMetrics, type Metrics } from '../outlets/metrics/metrics.ts'
import { createStoredGauges } from '../outlets/metrics/stored-gauges.ts'
import { createOutgoing } from '../outlets/sinks/compose.ts'
import { createAdmission } from '../platform/limits/admission.ts'
import { createDeadline } from '../platform/limits/deadline.ts'
import type { Log } from '../platform/log/log.ts'
import { within } from '../platform/timing/within.ts'
import { createDatabaseClock } from '../store/connection/clock.ts'
import { ensureEpoch, restartEpoch } from '../store/connection/epoch.ts'
import { isTransient } from '../store/connection/failure.ts'
import type { Database } from '../store/database.ts'
import { requireComplete } from '../store/migration/complete.ts'
import { exportRoutes, openArchive, openMqtt, openRequestTraces, openTraces } from './attachments.ts'
import { createAuthentication } from './authentication.ts'
import type { Config } from './config/config.ts'
import { logEpoch, logStandbys } from './log/database-events.ts'
import { createFailingDuties } from './log/failing-duties.ts'
import { createOutage } from './log/outage.ts'
import { commandOf } from './process/arguments.ts'

export interface App {
  readonly database: Database
  readonly metrics: Metrics
  listen(): Promise<{ readonly url: string; readonly port: number }>
  /** Reads the TLS files again. False: TLS is not configured. */
  reload(): Promise<boolean>
  /** False: a background duty has not ended, for example because the directory of the archive does not answer. */
  close(): Promise<boolean>
}

/** Milliseconds for the last spans, at the end of a server: those of rollouts are sent again, and those of requests may be lost. */
const collectorTimeout = 3_000

interface AppDeps {
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

export async function createApp({ config, database, log, timeouts = defaultTimeouts, ...deps }: AppDeps): Promise<App> {
  const { closing: closeTimeout = 10_000 } = timeouts
  const { dialects = allDialects } = deps
  const { now: clock, close: stopClock } = deps.clock
    ? { now: deps.clock, close: () => {} }
    : await createDatabaseClock(database)
  const { persistedDocuments } = config.server
  const documents =
    persistedDocuments === null
      ? null
      : await readPersistedDocuments(persistedDocuments, schema, await readPageDocuments())
  const rules = config.alertRules === null ? null : await readRuleFile(config.alertRules, schema)
  const tls =
    config.server.tls && (await watchTls({ config: config.server.tls, log, clock, interval: timeouts.tlsFiles }))
  const metrics = createMetrics(dialects)
  let isClosing = false
  const outage = createOutage({ log, ping: () => requireComplete(database.session), clock })
  const warn = outage.note

  logStandbys(database.standbys, log)
  const feed = await createFeed({
    database,
    restored: async (seen) => logEpoch(log)(await restartEpoch(database, clock(), seen)),
    failed: warn('the log cannot be read: trying again'),
  })
  const requests = await openRequestTraces(config, { metrics, log, interval: timeouts.spans })
  const writer = (requests?.createWriter ?? createWriter)({
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
  })
  if (rules !== null) await writer.submit(applyRuleFile(rules))
  const archiving = new AbortController()
  const archive = await openArchive(config, database, archiving.signal)
  const maintenance = createMaintenance({
    database,
    writer,
    offlineAfter: config.offlineAfter,
    stalling: config.stalling,
    ...config.retention,
    archive,
    ...(timeouts.duties && { interval: timeouts.duties }),
    ...createFailingDuties(outage, log),
    clock,
  })
  const { publicUrl, host, port } = config.server
  const scheme = config.server.tls === null ? 'http' : 'https'
  const outgoing = createOutgoing({
    database,
    feed,
    ...config.sinks,
    publicUrl: publicUrl ?? `${scheme}://${host}:${port}`,
    failed: warn('a notification was not sent: trying again'),
    observe: metrics.notified,
    ...(timeouts.retry && { backOff: { first: timeouts.retry, longest: 300 * timeouts.retry } }),
    clock,
  })
  const clusters = createClusters({
    ...config.clusters,
    database,
    writer,
    hub: feed.hub,
    log,
    observe: metrics.clusterShown,
    clock,
  })
  const admission = createAdmission({
    limits: config.limits,
    bodyTimeout: timeouts.body,
    readingTimeout: timeouts.reading,
    proxies: config.server.trustedProxies,
    observe: metrics.limited,
    clock,
  })
  const { auth, credentials, devices, refused, trail, oidc } = await createAuthentication({
    config,
    dialects,
    database,
    writer,
    admission,
    metrics,
    log,
    warn,
    clock,
  })
  const git = await createGit({
    config: config.git,
    history: createHistory(database),
    limits: config.limits.git,
    refuse: admission.refuse,
    log,
    clock,
  })
  const repositoryOf = (device: string): string | null =>
    git.missing === null ? `${publicUrl ?? ''}${repositoryPath(device)}` : null
  const graphql = createGraphql({
    documents,
    auth,
    credentials,
    admission,
    limits: config.limits.operation,
    introspection: config.server.introspection,
    database,
    writer,
    feed,
    sinks: outgoing.manager,
    repositoryOf,
    clock,
    log,
    graphiql: config.server.graphiql,
    initTimeout: timeouts.init,
    origins: config.server.corsOrigins,
    traced: requests?.traced,
  })
  metrics.observe({
    queued: () => writer.queued,
    head: () => feed.hub.last,
    subscribers: () => feed.subscribers,
    ...createStoredGauges(database, feed.hub, clock),
    unannounced: () => outgoing.manager.countUnannounced().catch(() => Number.NaN),
    clusters: clusters.states,
    standbys: database.standbys,
    certificates: () => tls?.daysLeft() ?? [],
    fleet: { database, rollouts: config.metricsRollouts, clock },
  })
  const deadline = () => createDeadline(config.limits.operation.time, admission.refuse)
  const { hub } = feed
  const deviceAuth = config.auth.device
  const mqtt = await openMqtt(config, { deviceAuth, database, writer, hub, admission, metrics, refused, log, clock })
  const interval = timeouts.duties
  const traces = await openTraces(config, { database, hub, log, clock, ...(interval && { interval }) })
  const server = createHttpServer({
    dialects,
    tls,
    routes: { ...exportRoutes({ database, deadline, admission, auth }), ...oidc?.routes },
    devices,
    git,
    database,
    writer,
    metrics,
    auth,
    credentials,
    oidc,
    authMethods: { api: config.auth.api.methods, device: config.auth.device.methods },
    commands: { rollcall: commandOf('rollcall'), simulate: commandOf('simulate') },
    admission,
    publicUrl,
    heartbeats: createHeartbeats({ writer, offlineAfter: config.offlineAfter, clock }),
    deadline,
    log,
    newestRevision: () => feed.hub.last,
    graphql: graphql.handle,
    origins: config.server.corsOrigins,
    timeouts: { ...timeouts, reading: timeouts.reading + config.limits.operation.time },
    isClosing: () => isClosing,
    connections: () => ({ ...(mqtt && { mqtt: { sessions: mqtt.sessions() } }) }),
    databaseFailed: warn('a request failed in the database'),
    refuseTarget: outgoing.refuseTarget,
    sinksChanged: outgoing.refresh,
    announce: outgoing.manager.announce,
    clock,
    repositoryOf,
    routed: requests?.routed,
  })
  requests?.watch(server)
  acceptUpgrades(server, graphql.upgrade, () => isClosing)

  async function close(): Promise<boolean> {
    isClosing = true
    stopClock()
    tls?.close()
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
    auth.close()
    if (oidc) await within(closeTimeout, oidc.close())
    const ending = maintenance.stop()
    // A bucket that does not answer must not delay the end. The next server copies again what was being copied.
    if (!(await within(closeTimeout / 2, ending))) archiving.abort()
    const isEnded = await within(closeTimeout / 2, ending)
    await within(closeTimeout, clusters.stop())
    await within(closeTimeout, trail.close())
    await within(closeTimeout, outgoing.stop())
    if (mqtt) await within(closeTimeout, mqtt.stop())
    const traced = traces && within(collectorTimeout, traces.stop()).catch(warn('the traces did not end'))
    await graphql.dispose()
    feed.close()
    await within(closeTimeout, writer.drain())
    server.closeIdleConnections()
    await within(1_000, stopped)
    server.closeAllConnections()
    await Promise.all([traced, requests && within(collectorTimeout, requests.stop())])
    await git.close()
    await database.close()
    return isEnded
  }

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
          resolve({ url: `${scheme}://${name}:${address.port}`, port: address.port })
        })
      }),
    async reload() {
      await tls?.reload()
      return tls !== null
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}
