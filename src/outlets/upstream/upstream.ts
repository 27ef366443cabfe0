/**
 * What this server's log has goes to the server above (docs/layers.md). Of several servers on one database, the one with the lease sends. This folder is
 * loaded only where UPSTREAM_URL is set.
 *
 *   sender.ts    the conversation: where is it, the next batch, pauses after failures
 *   cursor.ts    what the position of the receiver means for this log
 *   batches.ts   reads the next batch
 *   link.ts      the requests; answers.ts checks what comes back
 */
import type { Registry } from 'prom-client'
import type { Millis } from '../../domain/values.ts'
import type { Hub } from '../../feed/hub.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Database } from '../../store/database.ts'
import { createRenewal } from '../../store/lease-renewal.ts'
import type { UpstreamConfig } from './config.ts'
import { createLink } from './link.ts'
import { createLinkState, type LinkCondition } from './link-state.ts'
import { createUpstreamMetrics } from './metrics.ts'
import { createSender, type Pace, type Sender } from './sender.ts'

export interface Upstream {
  /** For /readyz, which is public. */
  describe(): { readonly state: LinkCondition; readonly backlog: number | null; readonly lastTaken: string | null }
  stop(): Promise<void>
}

export interface UpstreamDeps {
  readonly config: UpstreamConfig
  readonly database: Pick<Database, 'session' | 'snapshot'>
  readonly hub: Pick<Hub, 'onMove' | 'last'>
  readonly metrics: { readonly registry: Registry }
  readonly log: Pick<Log, 'info' | 'warn'>
  /** A failure of the database. */
  readonly failed: (error: unknown) => unknown
  readonly clock: () => Millis
  /** Milliseconds between renewals of the lease, which lasts six of them. */
  readonly interval?: Millis
  /** Milliseconds for a request and its answer. */
  readonly patience?: Millis
  readonly pace?: Partial<Pace>
}

const lease = 'upstream'
const usualPace: Pace = {
  ...{ gathering: 40, look: 1_000, contact: 60_000, closing: 3_000 },
  backOff: { first: 500, longest: 30_000 },
  refusedBackOff: { first: 30_000, longest: 300_000 },
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  const { config, database, hub, log, failed, clock, interval = 2_500, patience = 60_000 } = deps
  const state = createLinkState({ log, clock, count: (next) => counted.taken(next) })
  const counted = createUpstreamMetrics(deps.metrics.registry, state, () => hub.last)
  const link = createLink({ config, patience, sent: counted.sent })
  let sender: Sender | null = null
  let isStopped = false

  async function hold(names: ReadonlySet<string>): Promise<void> {
    if (names.has(lease)) {
      if (!isStopped)
        sender ??= createSender({ database, clock, hub, link, state, failed, pace: { ...usualPace, ...deps.pace } })
      return
    }
    const lost = sender
    sender = null
    state.handedOver()
    await lost?.stop(false)
  }

  const renewal = createRenewal({
    database,
    interval,
    clock,
    renew: (leases) => leases.hold([lease]),
    held: hold,
    failed,
  })
  return {
    describe() {
      const lastTaken = state.lastTaken()
      return {
        state: state.condition(),
        backlog: state.backlog(hub.last),
        lastTaken: lastTaken === null ? null : new Date(lastTaken).toISOString(),
      }
    },
    async stop() {
      isStopped = true
      await renewal.stop()
      await sender?.stop(true)
      if (sender) await renewal.leases.release([lease]).catch(failed)
    },
  }
}
