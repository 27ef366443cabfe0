import type { Database } from '../../store/database.ts'
import { findOverdue, type StallLimits, settleOverdue } from '../../store/write/standstill.ts'
import { stepsProjection } from '../../store/write/step-durations.ts'
import { markStalled } from '../commands/stall.ts'
import type { Writer } from '../writer.ts'
import type { Duty } from './duties.ts'
import { createProjecting } from './projections.ts'

/** Standstills in one search. The number is small, so that a planner without statistics prefers the index to a scan of the table. */
const fewFound = 100

/** Follows the log a minute behind its head, and marks deployments that stand still. No standstill is shorter than a minute. */
export function createStandstill(
  database: Pick<Database, 'session' | 'alter' | 'kind'>,
  writer: Pick<Writer, 'submit'>,
  stalling: StallLimits,
): Duty {
  const { session } = database
  const following = createProjecting(database, stepsProjection)
  return {
    ...following,
    interval: 10_000,
    async run(turn) {
      if (!(await following.run(turn))) return false
      if (stalling.factor === null && stalling.after === null) return true
      for (;;) {
        const found = await findOverdue(session, turn.now, stalling, turn.listeningSince, fewFound)
        if (found.length === 0) return true
        const stalled = found.filter(({ verdict }) => verdict === 'STALLED')
        if (stalled.length > 0) await writer.submit(markStalled(stalled))
        await settleOverdue(session, found)
        if (turn.isOver()) return false
      }
    },
  }
}
