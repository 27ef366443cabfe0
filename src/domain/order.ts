/**
 * Which of two reports is newer. The first key that both carry decides, equal keys pass to the next, at last arrival:
 *
 *   adoptedManifestVersion → seq (only within the same boot) → observedAt (ignored when > 5 minutes ahead of our clock)
 *
 * A mark stays until a report replaces it, so that a report without a key cannot open the door to one that is older by it.
 * Marks below the key that decided belong to an older run and go, unless the new report brings its own.
 * (PRODUCT, "Verdicts".)
 */
import type { Digits, Millis, OrderMarks } from './deployment.ts'
import type { OrderKey, StatusReport } from './report.ts'

/** How far ahead of ours a reporter's clock may be before it stops deciding the order. */
export const clockTolerance: Millis = 5 * 60 * 1000

export interface Ordering {
  /** The key the report lost by; null: it is the newest heard. */
  readonly staleBy: OrderKey | null
  /** The marks to keep when it did not lose. */
  readonly marks: OrderMarks
}

type OrderedReport = Pick<StatusReport, 'adoptedManifestVersion' | 'boot' | 'seq' | 'observedAt'>

export function orderReport(known: OrderMarks, report: OrderedReport, now: Millis): Ordering {
  const observedAt = report.observedAt !== null && report.observedAt - now <= clockTolerance ? report.observedAt : null
  const version = compare(report.adoptedManifestVersion, known.adoptedManifestVersion, compareDigits)
  if (version < 0) return { staleBy: 'adoptedManifestVersion', marks: known }
  const seq = report.boot === known.boot ? compare(report.seq, known.seq, compareDigits) : 0
  if (version === 0 && seq < 0) return { staleBy: 'seq', marks: known }
  const time = compare(observedAt, known.observedAt, (a, b) => a - b)
  if (version === 0 && seq === 0 && time < 0) return { staleBy: 'observedAt', marks: known }

  const keepsRun = version === 0
  const keepsTime = keepsRun && seq === 0
  const carriesSeq = report.seq !== null
  return {
    staleBy: null,
    marks: {
      adoptedManifestVersion: report.adoptedManifestVersion ?? known.adoptedManifestVersion,
      boot: carriesSeq ? report.boot : keepsRun ? known.boot : null,
      seq: carriesSeq ? report.seq : keepsRun ? known.seq : null,
      observedAt: observedAt ?? (keepsTime ? known.observedAt : null),
    },
  }
}

/** Zero also when either side lacks the key: then it decides nothing. */
function compare<T>(a: T | null, b: T | null, by: (a: T, b: T) => number): number {
  return a === null || b === null ? 0 : by(a, b)
}

export function compareDigits(a: Digits, b: Digits): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}
