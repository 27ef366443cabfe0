/**
 * Summing upward: FAILED > PENDING > UNKNOWN > READY. An empty set is UNKNOWN, never READY: nothing known is not good news.
 *
 *   what the resource is                        readiness           takes part
 *   DELETED by the orchestrator                 UNKNOWN Deleted     no (a straggler keeps what its object says)
 *   of a kind its source cannot show            UNKNOWN             no
 *   only the cluster ever had it, and it's gone UNKNOWN             no
 *   not there, though its source would show it  PENDING NotPresent  yes
 *   nothing received yet (presence UNKNOWN)     UNKNOWN             yes
 *   there                                       its object's        yes
 */
import type { Readiness } from '../domain/values.ts'
import { type Assessment, pending, unknown } from './assessment.ts'

export interface Standing {
  /** The orchestrator's word; null for an object that only the cluster has. */
  readonly sync: 'PENDING' | 'APPLIED' | 'FAILED' | 'RETRYING' | 'DELETED' | null
  readonly presence: 'UNKNOWN' | 'NOT_PRESENT' | 'PRESENT'
  /** Whether the source that watches the cluster can show objects of this kind at all. */
  readonly showable: boolean
}

const severity: Readonly<Record<Readiness, number>> = { READY: 0, UNKNOWN: 1, PENDING: 2, FAILED: 3 }

export const sumReadiness = (items: Iterable<{ readonly readiness: Readiness }>): Readiness => {
  let worst: Readiness | null = null
  for (const { readiness } of items) if (worst === null || severity[readiness] > severity[worst]) worst = readiness
  return worst ?? 'UNKNOWN'
}

/** Whether a resource counts in the sum of what it belongs to. One that does not stays in lists and counts where its dialect says so. */
export const takesPart = ({ sync, presence, showable }: Standing): boolean =>
  sync !== 'DELETED' && showable && !(sync === null && presence === 'NOT_PRESENT')

/** A resource's own readiness: `assessed` is what its object says, null while no object has been received. */
export const resourceReadiness = (standing: Standing, assessed: Assessment | null): Assessment => {
  switch (standing.presence) {
    case 'PRESENT':
      return assessed ?? unknown(null)
    case 'UNKNOWN':
      return unknown(null)
    case 'NOT_PRESENT':
      if (standing.sync === 'DELETED') return unknown('Deleted')
      return takesPart(standing) ? pending('NotPresent', 'the cluster does not have it') : unknown(null)
  }
}
