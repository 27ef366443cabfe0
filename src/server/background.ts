/** What a server does without being asked: duties, notifications, watched clusters. */
import { createClusters } from '../ingest/clusters/clusters.ts'
import { createMaintenance } from '../ingest/duties/maintenance.ts'
import { createOutgoing } from '../outlets/sinks/compose.ts'
import { within } from '../platform/timing/within.ts'
import { openArchive, openUpstream } from './attachments.ts'
import type { Core } from './core.ts'
import { createFailingDuties } from './log/failing-duties.ts'
import type { Parts } from './parts.ts'

export async function startBackground(parts: Parts, core: Core) {
  const { config, timeouts, closeTimeout, database, log, clock, metrics, outage, warn, feed, writer } = core
  const archiving = new AbortController()
  const archive = await openArchive(config, database, archiving.signal)
  let isEnded = true
  const duties = createMaintenance({
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
  parts.add(duties, async () => {
    const ending = duties.stop()
    // A bucket that does not answer must not delay the end. The next server copies again what was being copied.
    if (!(await within(closeTimeout / 2, ending))) archiving.abort()
    isEnded = await within(closeTimeout / 2, ending)
  })
  const { publicUrl, host, port, tls } = config.server
  const outgoing = parts.add(
    createOutgoing({
      database,
      feed,
      ...config.sinks,
      publicUrl: publicUrl ?? `${tls === null ? 'http' : 'https'}://${host}:${port}`,
      failed: warn('a notification was not sent: trying again'),
      observe: metrics.notified,
      ...(timeouts.retry && { backOff: { first: timeouts.retry, longest: 300 * timeouts.retry } }),
      clock,
    }),
    (outgoing) => outgoing.stop(),
    closeTimeout,
  )
  const clusters = parts.add(
    createClusters({
      ...config.clusters,
      database,
      writer,
      hub: feed.hub,
      log,
      observe: metrics.clusterShown,
      clock,
    }),
    (clusters) => clusters.stop(),
    closeTimeout,
  )
  const upstream = parts.add(
    await openUpstream(config, {
      ...{ database, hub: feed.hub, metrics, log, clock },
      failed: warn('nothing was sent to the server above: trying again'),
    }),
    (upstream) => upstream.stop(),
    closeTimeout,
  )
  return { outgoing, clusters, upstream, isEnded: () => isEnded }
}
