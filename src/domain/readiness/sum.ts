/**
 * The readiness of a set is the worst of its members: FAILED > PENDING > UNKNOWN > READY. An empty set is UNKNOWN, never READY.
 *
 *   the resource                                      readiness           counted
 *   DELETED by the orchestrator                       UNKNOWN Deleted     no (if still present: that of its object)
 *   of a kind that its source cannot show             UNKNOWN             no
 *   reported by the cluster only, and not present     UNKNOWN             no
 *   not present, although its source can show it      PENDING NotPresent  yes
 *   nothing received yet (presence UNKNOWN)           UNKNOWN             yes
 *   present                                           that of its object  yes
 */
import type { Assessment } from '../orchestration/resource.ts'
import type { Readiness } from '../values.ts'
import { pending, unknown } from './assessment.ts'

export interface ObjectStatus {
  /** The status that the orchestrator reports. Null: only the cluster reported the object. */
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

/** Whether a resource counts for the readiness of its component and deployment. Its dialect decides whether it is in lists and counts. */
export const isCounted = ({ sync, presence, showable }: ObjectStatus): boolean =>
  sync !== 'DELETED' && showable && !(sync === null && presence === 'NOT_PRESENT')

/** The readiness of one resource. `assessed`: that of its object. Null: no object has been received. */
export const resourceReadiness = (standing: ObjectStatus, assessed: Assessment | null): Assessment => {
  switch (standing.presence) {
    case 'PRESENT':
      return assessed ?? unknown(null)
    case 'UNKNOWN':
      return unknown(null)
    case 'NOT_PRESENT':
      if (standing.sync === 'DELETED') return unknown('Deleted')
      return isCounted(standing) ? pending('NotPresent', 'the object is not present in the cluster') : unknown(null)
  }
}
