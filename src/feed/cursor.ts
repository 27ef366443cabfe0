/** Is a cursor still good? Decided by the database alone: a hub may lag behind it, a client may be ahead of a restored one. */
import type { Revision } from '../domain/deployment.ts'
import type { EpochRange } from '../store/log-head.ts'

export interface LogRange {
  readonly head: Revision
  readonly tail: Revision
  readonly epochs: readonly EpochRange[]
}

/** Null: everything after it is there. Otherwise where to go on from: the tail, or the base of the present epoch. */
export function expiredTo(cursor: Revision, log: LogRange): Revision | null {
  const epoch = log.epochs.find(({ base, ended }) => base <= cursor && cursor <= (ended ?? log.head))
  if (epoch && cursor >= log.tail) return null
  if (epoch || cursor < log.tail) return log.tail
  const present = log.epochs.find(({ ended }) => ended === null)
  return Math.max(present?.base ?? log.tail, log.tail)
}
