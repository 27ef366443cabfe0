/**
 * What this server knows of its link, for the log, /metrics and /readyz. The log has a line when the link fails, when the reason changes, and when the link
 * is there again: a link that is down for a day writes no more.
 */
import type { SitePosition } from '../../domain/sites/batch.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Log } from '../../platform/log/log.ts'
import type { NextBatch } from './batches.ts'
import type { LinkError, Trouble } from './link.ts'

/** WAITING: another server on this database sends, or this one has not asked yet. */
export type LinkCondition = 'WAITING' | 'CONNECTED' | Trouble

export interface LinkState {
  condition(): LinkCondition
  /** Changes that are not acknowledged above. Null: this server does not send. */
  backlog(newest: Revision): number | null
  /** When the newest batch was acknowledged. */
  lastTaken(): Millis | null
  /** Batches that were acknowledged. */
  batches(): number
  taken(site: string, next: NextBatch): void
  failed(error: LinkError): void
  beginsAgain(why: string): void
  /** Another server sends. */
  handedOver(): void
}

interface LinkStateOptions {
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly clock: () => Millis
  readonly count?: (next: NextBatch) => void
}

export function createLinkState({ log, clock, count = () => {} }: LinkStateOptions): LinkState {
  let condition: LinkCondition = 'WAITING'
  /** Of the reason that was logged. */
  let said = ''
  let failedAt: Millis | null = null
  let last: { readonly at: Millis; readonly head: SitePosition; readonly backlog: number } | null = null
  let batches = 0

  return {
    condition: () => condition,
    backlog: (newest) => (last === null ? null : last.backlog + Math.max(newest - last.head.revision, 0)),
    lastTaken: () => last?.at ?? null,
    batches: () => batches,
    taken(site, next) {
      const seconds = failedAt === null ? null : Math.round((clock() - failedAt) / 1_000)
      if (condition !== 'CONNECTED') {
        const after = seconds === null ? '' : ` again, after ${seconds} s`
        log.info({ site, backlog: next.batch.backlog }, `the server above takes what this one sends${after}`)
      }
      condition = 'CONNECTED'
      said = ''
      failedAt = null
      batches += 1
      last = { at: clock(), head: next.head, backlog: next.batch.backlog }
      count(next)
    },
    failed({ trouble, message, cause }) {
      condition = trouble
      failedAt ??= clock()
      // A link that is down fails in several ways by turns. Of the others, each reason is worth a line.
      const reason = trouble === 'UNREACHABLE' ? trouble : message
      if (said === reason) return
      const remedy = trouble === 'REFUSED' ? 'check UPSTREAM_TOKEN or UPSTREAM_CERT' : 'trying again'
      log.warn({ ...(cause instanceof Error && { error: cause }) }, `the server above ${message}: ${remedy}`)
      said = reason
    },
    beginsAgain(why) {
      log.info({}, `sending the present of all deployments to the server above: ${why}`)
    },
    handedOver() {
      condition = 'WAITING'
      said = ''
      failedAt = null
      last = null
    },
  }
}
