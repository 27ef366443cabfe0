import type { Millis, Revision } from '../../domain/values.ts'
import { readHead } from '../../store/connection/log-head.ts'
import type { Database } from '../../store/database.ts'
import { findOverdue, type StallLimits, settleOverdue, shortest } from '../../store/write/standstill.ts'
import { followSteps, readFollowed, standstillDuty } from '../../store/write/step-durations.ts'
import { markStalled } from '../commands/stall.ts'
import type { Writer } from '../writer.ts'
import type { Duty } from './duties.ts'

/**
 * Entries that are followed in one statement: more, the longer the duty is behind. Each statement also reads the durations that are known of the steps
 * that it comes by, and those are the same for many entries. Reports and queries wait for it, in the embedded database and on few processors.
 */
const fewestFollowed = 250
const mostFollowed = { postgres: 2_000, pglite: 250 }
/** Standstills in one search. The number is small, so that a planner without statistics prefers the index to a scan of the table. */
const fewFound = 100

/**
 * Follows the log a minute behind its head, and marks deployments that stand still. No standstill is shorter than a minute, and a step that
 * ended within the minute needs no row in the index of steps.
 */
export function createStandstill(
  { session, kind }: Pick<Database, 'session' | 'kind'>,
  writer: Pick<Writer, 'submit'>,
  stalling: StallLimits,
): Duty {
  /** Heads of the log, oldest first, with the time of the reading, because the log's own time may have jumped. */
  const seen: { readonly revision: Revision; readonly at: Millis }[] = []

  async function follow(now: Millis, isOver: () => boolean): Promise<Revision | null> {
    const { revision } = await readHead(session)
    seen.push({ revision, at: now })
    const old = seen.findLastIndex(({ at }) => at <= now - shortest * 1_000)
    if (old > 0) seen.splice(0, old)
    let cursor = await readFollowed(session)
    if (old < 0) return cursor
    const newest = seen[0]?.revision ?? 0
    for (let entries = fewestFollowed; cursor < newest; entries = Math.min(2 * entries, mostFollowed[kind])) {
      const read = await followSteps(session, cursor, newest, entries)
      if (read === null || isOver()) return null
      cursor = read.cursor
    }
    return cursor
  }

  return {
    name: standstillDuty,
    interval: 10_000,
    budget: 4_000,
    async run({ now, listeningSince, isOver }) {
      const cursor = await follow(now, isOver)
      if (cursor === null) return false
      if (stalling.factor === null && stalling.after === null) return true
      for (;;) {
        const found = await findOverdue(session, now, stalling, listeningSince, cursor, fewFound)
        if (found.length === 0) return true
        const stalled = found.filter(({ verdict }) => verdict === 'STALLED')
        if (stalled.length > 0) await writer.submit(markStalled(stalled))
        await settleOverdue(session, found)
        if (isOver()) return false
      }
    },
  }
}
