/**
 * Decides which of two reports is newer. The first key that both carry decides. If it is equal, the next key decides.
 * If no key decides, the report that arrives later is newer.
 *
 *   adoptedManifestVersion → seq (only within the same boot) → observedAt (ignored when > 5 minutes ahead of our clock)
 *                          → seq of an earlier boot (a number that this boot has already reached is older)
 *
 * The last key detects a repeat that arrives after a restart and carries no time. The alternative, to refuse every report of an
 * earlier boot, would silence a device that reuses a boot name. Higher numbers of an earlier boot are accepted as they arrive.
 *
 * A mark stays until a report replaces it. Otherwise a report without a key would let a later report pass that is older by that key.
 * Marks below the key that decided belong to an older run. They are dropped unless the new report brings its own.
 * (docs/wire.md §7.3.)
 */
import type { OrderKey, StatusReport } from '../report.ts'
import { compareDigits, type Digits, type Millis } from '../values.ts'

/** A reporter's clock that is further ahead of the server's clock does not decide the order. */
export const clockTolerance: Millis = 5 * 60 * 1000

/** The number of boots that are remembered besides the newest. */
const bootsRemembered = 4

interface Ordering {
  /** The key by which the report is older. Null: it is the newest report. */
  readonly staleBy: OrderKey | null
  /** The marks to store if the report is not older. */
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
  if (version === 0 && seq === 0 && time === 0 && isOfEarlierBoot(known, report))
    return { staleBy: 'seq', marks: known }

  const keepsRun = version === 0
  const keepsTime = keepsRun && seq === 0
  const carriesSeq = report.seq !== null
  const earlier = keepsRun ? earlierBoots(known, report) : []
  return {
    staleBy: null,
    marks: {
      adoptedManifestVersion: report.adoptedManifestVersion ?? known.adoptedManifestVersion,
      boot: carriesSeq ? report.boot : keepsRun ? known.boot : null,
      seq: carriesSeq ? report.seq : keepsRun ? known.seq : null,
      observedAt: observedAt ?? (keepsTime ? known.observedAt : null),
      ...(earlier.length > 0 && { earlier }),
    },
  }
}

function isOfEarlierBoot({ earlier = [] }: OrderMarks, { boot, seq }: OrderedReport): boolean {
  return earlier.some((mark) => mark.boot === boot && seq !== null && compareDigits(seq, mark.seq) <= 0)
}

function earlierBoots({ boot, seq, earlier = [] }: OrderMarks, report: OrderedReport) {
  if (report.seq === null || report.boot === boot) return earlier
  const others = earlier.filter((mark) => mark.boot !== report.boot)
  return seq === null ? others : [{ boot, seq }, ...others].slice(0, bootsRemembered)
}

/** Also zero if either side lacks the key: it then decides nothing. */
function compare<T>(a: T | null, b: T | null, by: (a: T, b: T) => number): number {
  return a === null || b === null ? 0 : by(a, b)
}

/**
 * The place of a birth or a last will among those of one device. `connectedAt`: when its connection began, by the device's clock. A broker can
 * deliver them in another order. The will of a connection follows its birth, and precedes the birth of the next connection. Null: its arrival decides.
 */
export function orderConnection(connectedAt: Millis | null, to: 'ONLINE' | 'OFFLINE', now: Millis): number | null {
  if (connectedAt === null || connectedAt - now > clockTolerance) return null
  return 2 * connectedAt + (to === 'OFFLINE' ? 1 : 0)
}

/**
 * Whether a birth or a last will is of an older connection than the newest known one. Not where the clock of the device must be behind: a birth is
 * sent when its connection begins, so one from before a connection that began long ago would have been under way as long.
 * `isInOrder`: the broker delivers the messages in their order, so that an outage of the servers is no other explanation.
 */
export function isOlderConnection(
  known: number | null,
  order: number | null,
  { to, now, isInOrder }: { readonly to: 'ONLINE' | 'OFFLINE'; readonly now: Millis; readonly isInOrder: boolean },
): boolean {
  if (known === null || order === null || order >= known) return false
  return !(isInOrder && to === 'ONLINE' && now - known / 2 > clockTolerance)
}

/** The ordering keys of the newest report. They decide whether the next report is STALE. */
export interface OrderMarks {
  readonly adoptedManifestVersion: Digits | null
  readonly boot: string | null
  readonly seq: Digits | null
  readonly observedAt: Millis | null
  /** The boots before `boot` with their highest `seq`, newest first, at most `bootsRemembered`. Absent: none. */
  readonly earlier?: readonly { readonly boot: string | null; readonly seq: Digits }[]
}

export const noMarks: OrderMarks = { adoptedManifestVersion: null, boot: null, seq: null, observedAt: null }
