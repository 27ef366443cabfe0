/**
 * The whole server, composed by hand: database → writer → feed → GraphQL and REST. Used by main.ts and by the tests.
 *
 *   close: not ready (503) → no new connections → streams end (1001) → what was taken is written → connections end → database
 */
import type { AddressInfo } from 'node:net'
import { createApiAuth } from './auth/api/api-auth.ts'
import { createAuditTrail } from './auth/audit-trail.ts'
import { createDeviceAuth } from './auth/devices/device-auth.ts'
import { createClusters } from './clusters/clusters.ts'
import type { Config } from './config.ts'
import { createFeed, type Feed } from './feed/feed.ts'
import { createGit } from './git/git.ts'
import { createHistory } from './git/history.ts'
import { createGraphql } from './graphql/graphql.ts'
import { readPersistedDocuments } from './graphql/persisted-documents.ts'
import { schema } from './graphql/schema.ts'
import { createAttendance } from './ingest/attendance.ts'
import { createTimekeeper } from './ingest/timekeeper.ts'
import { createWriter } from './ingest/writer.ts'
import { createDeadline } from './limits/deadline.ts'
import { createGate } from './limits/gate.ts'
import type { Log } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { repositoryPath } from './rest/git.ts'
import { defaultPatience, type Patience } from './rest/guard.ts'
import { readPageDocuments } from './rest/page-documents.ts'
import { createHttpServer } from './rest/server.ts'
import { readTls } from './rest/tls.ts'
import { createOutgoing } from './sinks/compose.ts'
import type { Database } from './store/database.ts'
import { ensureEpoch, restartEpoch } from './store/epoch.ts'
import { isTransient } from './store/failure.ts'
import { readHead } from './store/log-head.ts'
import { listSinkStates } from './store/sinks.ts'

export interface App {
  readonly database: Database
  readonly metrics: Metrics
  listen(): Promise<{ readonly url: string; readonly port: number }>
  close(): Promise<void>
}

export interface AppDeps {
  readonly config: Config
  /** Closed with the app. */
  readonly database: Database
  readonly log: Log
  readonly clock?: () => number
  /** With those that say nothing. */
  readonly patience?: Patience
}

/** Milliseconds that a closing server waits for what it has taken. */
const farewell = 10_000

export async function createApp({
  config,
  database,
  log,
  clock = Date.now,
  patience = defaultPatience,
}: AppDeps): Promise<App> {
  const { persistedDocuments } = config.server
  const documents =
    persistedDocuments === null
      ? null
      : await readPersistedDocuments(persistedDocuments, schema, await readPageDocuments())
  const tls = config.server.tls && (await readTls(config.server.tls))
  const metrics = createMetrics()
  let isClosing = false
  const warn = (message: string) => (error: unknown) => {
    if (!isClosing) log.warn({ error }, message)
  }

  const feed = await createFeed({
    database,
    restored: (seen) => restartEpoch(database, clock(), seen),
    failed: warn('the log cannot be read: trying again'),
  })
  const writer = createWriter({
    database,
    committed: (since, changes) => feed.hub.publish(since, changes),
    isTransient,
    // What others wrote may have been told to somebody here, too.
    checkIdentity: (session, newestSeen) => ensureEpoch(session, clock(), Math.max(newestSeen, feed.hub.last)),
    observe: metrics.batchCommitted,
    offlineAfter: config.offlineAfter,
    clock,
  })
  const timekeeper = createTimekeeper({
    database,
    writer,
    offlineAfter: config.offlineAfter,
    stalling: config.stalling,
    ...config.retention,
    failed: warn('what time made due was not done: trying again'),
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
  const trail = createAuditTrail({
    writer,
    clock,
    failed: warn('refused credentials were not written to the audit log'),
  })
  const auth = createApiAuth({
    config: config.auth.api,
    database,
    writer,
    clock,
    refused: ({ token, address }, outcome) =>
      trail.refused({ who: '', credential: token === null ? 'session' : 'token', address, action: 'the API', outcome }),
  })
  const gate = createGate({
    limits: config.limits,
    proxies: config.server.trustedProxies,
    observe: metrics.limited,
    clock,
  })
  const git = await createGit({
    config: config.git,
    history: createHistory(database),
    limits: config.limits.git,
    refuse: gate.refuse,
    log,
    clock,
  })
  // Behind a proxy the Host may be another one than the world knows.
  const origins = [...config.server.corsOrigins, ...(publicUrl === null ? [] : [new URL(publicUrl).origin])]
  const graphql = createGraphql({
    documents,
    auth,
    gate,
    limits: config.limits.operation,
    introspection: config.server.introspection,
    database,
    writer,
    feed,
    sinks: outgoing.manager,
    repositoryOf: (device) => (git.missing === null ? `${publicUrl ?? ''}${repositoryPath(device)}` : null),
    log,
    graphiql: config.server.graphiql,
    initTimeout: patience.init,
    origins: config.server.corsOrigins,
  })
  metrics.observe({
    queued: () => writer.queued,
    head: () => feed.hub.last,
    subscribers: () => feed.subscribers,
    lag: () => measureLag(database, feed),
    sinks: () => listSinkStates(database).catch(() => []),
    clusters: clusters.states,
  })
  const devices = createDeviceAuth({
    config: config.auth.device,
    database,
    writer,
    publicUrl,
    isTrusted: gate.addresses.isTrusted,
    clock,
    refused({ method, reason, message, device, request }) {
      metrics.credentialRefused({ method, reason })
      const [path] = (request.url ?? '').split('?')
      const address = gate.addresses.of(request)
      trail.refused({
        who: device ?? '',
        credential: `device ${method}`,
        address,
        action: path ?? '',
        outcome: message,
      })
      log.warn({ method, reason, address, path }, `refused: ${message}`)
    },
  })
  const server = createHttpServer({
    tls,
    devices,
    git,
    database,
    writer,
    metrics,
    auth,
    gate,
    publicUrl,
    attendance: createAttendance({ writer, offlineAfter: config.offlineAfter, clock }),
    deadline: () => createDeadline(config.limits.operation.time, gate.refuse),
    origins,
    log,
    newestRevision: () => feed.hub.last,
    graphql: graphql.handle,
    patience: { ...patience, reading: patience.reading + config.limits.operation.time },
    isClosing: () => isClosing,
    refuseTarget: outgoing.refuseTarget,
    sinksChanged: outgoing.refresh,
    hasInventory: config.sinks.aai !== null,
  })
  server.on('upgrade', (request, socket, head) => {
    // Node leaves an upgrading socket without a listener: a reset would end the process.
    socket.on('error', () => undefined)
    const [path] = (request.url ?? '').split('?')
    if (path === '/graphql' && !isClosing) graphql.upgrade(request, socket, head)
    else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })

  async function close(): Promise<void> {
    isClosing = true
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()))
    auth.close()
    await timekeeper.stop()
    await within(farewell, clusters.stop())
    await within(farewell, trail.close())
    await within(farewell, outgoing.stop())
    await graphql.dispose()
    feed.close()
    await within(farewell, writer.drain())
    server.closeIdleConnections()
    await within(1_000, stopped)
    server.closeAllConnections()
    await git.close()
    await database.close()
  }

  let closed: Promise<void> | null = null
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
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** Revisions; NaN while the database does not say. What is committed while we ask is no lag. */
async function measureLag(database: Database, feed: Feed): Promise<number> {
  let lag = Number.NaN
  const asked = readHead(database.session).then(({ revision }) => {
    lag = Math.max(revision - feed.hub.last, 0)
  })
  await within(
    1_000,
    asked.catch(() => undefined),
  )
  return lag
}

function within(time: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, time)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
