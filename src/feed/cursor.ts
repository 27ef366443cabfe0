/** Whether a cursor is valid. The database alone decides: a hub may lag behind it, a client may be ahead of a restored one. */
import type { Revision } from '../domain/values.ts'
import type { EpochRange } from '../store/connection/log-head.ts'

export interface LogRange {
  readonly head: Revision
  readonly tail: Revision
  /** Oldest first. */
  readonly epochs: readonly EpochRange[]
}

/** Null: the log has everything after the cursor. Otherwise the revision to continue from: the tail, or the base of the next epoch. */
export function expiredTo(cursor: Revision, log: LogRange): Revision | null {
  const epoch = log.epochs.find(({ base, ended }) => base <= cursor && cursor <= (ended ?? log.head))
  if (epoch && cursor >= log.tail) return null
  if (epoch || cursor < log.tail) return log.tail
  const present = log.epochs.find(({ ended }) => ended === null)
  return Math.max(nextBase(cursor, log) ?? present?.base ?? log.tail, log.tail)
}

/** Where the log continues after the last revision of an earlier epoch. Null: the cursor is not the last of any. */
export function continuation(cursor: Revision, log: LogRange): Revision | null {
  return log.epochs.some(({ ended }) => ended === cursor) ? nextBase(cursor, log) : null
}

function nextBase(cursor: Revision, { epochs }: LogRange): Revision | null {
  return epochs.find(({ base }) => base > cursor)?.base ?? null
}
