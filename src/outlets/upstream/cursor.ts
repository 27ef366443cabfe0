/**
 * Where the next batch begins. The receiver's position decides: nothing about it is stored here. What is read may be ahead of it, by entries that stay at this
 * site: they are no reason to send a batch.
 */
import type { SitePosition, Standing } from '../../domain/sites/batch.ts'
import type { Revision } from '../../domain/values.ts'
import { expiredTo } from '../../feed/cursor.ts'
import type { EpochRange } from '../../store/connection/log-head.ts'
import type { LogHead } from '../../store/database.ts'

export interface Cursor {
  /** Where the receiver is. Null: it has nothing that counts. */
  readonly position: SitePosition | null
  readonly snapshot: Standing['snapshot']
  /** Up to where the log was read. Null: up to the position. */
  readonly read: SitePosition | null
  /** The key of the newest report that was read, or 0. */
  readonly reportsAfter: number
  readonly unknown: { readonly deployments: ReadonlySet<number>; readonly targets: readonly number[] }
}

const nothingUnknown: Cursor['unknown'] = { deployments: new Set(), targets: [] }

/** `before`: the cursor of the batch that it refused. What was asked for stays so: a deployment that is named may name a target that is unknown, too. */
export function cursorOf({ position, snapshot, unknown }: Standing, before?: Cursor): Cursor {
  if (!unknown) return { position, snapshot, read: null, reportsAfter: 0, unknown: nothingUnknown }
  const asked = before?.unknown ?? nothingUnknown
  const deployments = new Set([...asked.deployments, ...unknown.deployments])
  const targets = [...new Set([...asked.targets, ...unknown.targets])]
  return { position, snapshot, read: null, reportsAfter: 0, unknown: { deployments, targets } }
}

export function cursorAt(position: SitePosition, reportsAfter = 0): Cursor {
  return { position, snapshot: null, read: null, reportsAfter, unknown: nothingUnknown }
}

export function cursorIn(snapshot: NonNullable<Standing['snapshot']>): Cursor {
  return { position: null, snapshot, read: null, reportsAfter: 0, unknown: nothingUnknown }
}

export interface Range {
  readonly head: LogHead
  readonly epochs: readonly EpochRange[]
}

export type Start =
  | { readonly of: 'log'; readonly after: SitePosition; readonly read: SitePosition }
  | { readonly of: 'snapshot'; readonly upTo: SitePosition; readonly after: number; readonly why: string | null }

/**
 *   a snapshot of this epoch, from whose end the log continues   its next part
 *   a position that the log continues                            what the log has after it
 *   nothing, or any other position                               a snapshot of now
 */
export function startOf({ position, snapshot, read }: Cursor, range: Range): Start {
  const { head } = range
  if (snapshot !== null && snapshot.upTo.epoch === head.epochBase && problemOf(snapshot.upTo, range) === null)
    return { of: 'snapshot', ...snapshot, why: null }
  const why = position === null ? 'it has nothing of this site' : problemOf(position, range)
  if (position !== null && why === null) {
    const isAhead = read !== null && read.epoch === head.epochBase
    // The batches of another epoch are not those of this one: all targets are sent again.
    const sent = position.epoch === head.epochBase ? position : { ...position, writes: -1 }
    return { of: 'log', after: position, read: isAhead ? read : sent }
  }
  return { of: 'snapshot', upTo: endOf(head), after: 0, why }
}

/** Why the log does not continue a position. Null: it does. */
function problemOf({ epoch, revision, writes }: SitePosition, { head, epochs }: Range): string | null {
  if (expiredTo(revision, { head: head.revision, tail: head.tail, epochs }) !== null)
    return revision < head.tail
      ? 'the history after its position is no longer stored'
      : 'its position is not in the log: the database was restored'
  return epoch === head.epochBase && writes > head.writes
    ? 'its position is after the log: the database was restored'
    : null
}

export function endOf({ epochBase: epoch, revision, writes }: LogHead): SitePosition {
  return { epoch, revision, writes }
}

/** Changes of the log after a revision. */
export function changesAfter(revision: Revision, { head, epochs }: Range): number {
  return epochs.reduce(
    (sum, { base, ended }) => sum + Math.max((ended ?? head.revision) - Math.max(revision, base), 0),
    0,
  )
}
