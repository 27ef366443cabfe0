/** What answers callers: HTTP, GraphQL, MQTT, and what they export. */
import type { Server } from 'node:http'
import { createGraphql } from '../api/graphql/graphql.ts'
import { acceptUpgrades } from '../api/graphql/transport/upgrade.ts'
import { repositoryPath } from '../api/rest/devices/git.ts'
import { createHttpServer } from '../api/rest/server.ts'
import { createHeartbeats } from '../ingest/heartbeats.ts'
import { createStoredGauges } from '../outlets/metrics/stored-gauges.ts'
import { createDeadline } from '../platform/limits/deadline.ts'
import { exportRoutes, openAssistants, openMqtt, openTraces } from './attachments.ts'
import { createAuthentication } from './authentication.ts'
import type { startBackground } from './background.ts'
import { type Core, collectorTimeout } from './core.ts'
import type { Parts } from './parts.ts'
import { commandOf } from './process/arguments.ts'

type Background = Awaited<ReturnType<typeof startBackground>>

export async function startServing(
  parts: Parts,
  core: Core,
  { outgoing, clusters, upstream }: Background,
): Promise<Server> {
  const { config, timeouts, closeTimeout, database, log, clock, documents, tls, metrics, warn } = core
  const { admission, git, requests, connections, feed, writer } = core
  const { publicUrl, introspection, graphiql, corsOrigins: origins } = config.server
  const { hub } = feed
  const { auth, credentials, devices, sites, refused, trail, oidc } = await createAuthentication(core)
  parts.add(trail, () => trail.close(), closeTimeout)
  parts.add(oidc, (oidc) => oidc.close(), closeTimeout)
  parts.add(auth, () => auth.close())
  const repositoryOf = (device: string): string | null =>
    git.missing === null ? `${publicUrl ?? ''}${repositoryPath(device)}` : null
  const graphql = parts.add(
    createGraphql({
      documents,
      auth,
      credentials,
      admission,
      limits: config.limits.operation,
      introspection,
      database,
      writer,
      feed,
      sinks: outgoing.manager,
      repositoryOf,
      clock,
      log,
      graphiql,
      initTimeout: timeouts.init,
      origins,
      traced: requests?.traced,
    }),
    (graphql) => graphql.dispose(),
  )
  metrics.observe({
    queued: () => writer.queued,
    head: () => hub.last,
    subscribers: () => feed.subscribers,
    ...createStoredGauges(database, hub, clock),
    unannounced: () => outgoing.manager.countUnannounced().catch(() => Number.NaN),
    clusters: clusters.states,
    standbys: database.standbys,
    certificates: () => tls?.daysLeft() ?? [],
    fleet: { database, rollouts: config.metricsRollouts, clock },
  })
  const deadline = () => createDeadline(config.limits.operation.time, admission.refuse)
  const { api, device: deviceAuth } = config.auth
  const mqtt = parts.add(
    await openMqtt(config, {
      isStrict: config.strictReports,
      deviceAuth,
      database,
      writer,
      hub,
      admission,
      metrics,
      refused,
      log,
      clock,
    }),
    (mqtt) => mqtt.stop(),
    closeTimeout,
  )
  const interval = timeouts.duties
  parts.add(
    await openTraces(config, { database, hub, log, clock, ...(interval && { interval }) }),
    (traces) => traces.stop().catch(warn('the traces did not end')),
    collectorTimeout,
  )
  const assistants = openAssistants(config, {
    auth,
    credentials,
    identifyPerson: config.auth.oidc?.resource ? (oidc?.identify ?? null) : null,
    documents: graphql.ownDocuments,
    introspection,
    log,
    clock,
  })
  const server = createHttpServer({
    ...core,
    routes: { ...exportRoutes({ database, deadline, admission, auth }), ...assistants?.routes, ...oidc?.routes },
    devices,
    sites,
    isStrict: config.strictReports,
    auth,
    credentials,
    oidc,
    authMethods: { api: api.methods, device: deviceAuth.methods },
    commands: { rollcall: commandOf('rollcall'), simulate: commandOf('simulate') },
    publicUrl,
    heartbeats: createHeartbeats({ writer, offlineAfter: config.offlineAfter, clock }),
    deadline,
    newestRevision: () => hub.last,
    graphql: graphql.handle,
    introspection,
    origins,
    timeouts: { ...timeouts, reading: timeouts.reading + config.limits.operation.time },
    isClosing: connections.isClosing,
    connections: () => ({
      ...(mqtt && { mqtt: { sessions: mqtt.sessions() } }),
      ...(upstream && { upstream: upstream.describe() }),
    }),
    databaseFailed: warn('a request failed in the database'),
    refuseTarget: outgoing.refuseTarget,
    sinksChanged: outgoing.refresh,
    announce: outgoing.manager.announce,
    repositoryOf,
    routed: requests?.routed,
  })
  requests?.watch(server)
  acceptUpgrades(server, graphql.upgrade, connections.isClosing)
  connections.use(server)
  parts.add(connections, () => connections.refuse())
  parts.add(assistants, (assistants) => assistants.close())
  return server
}
