/** Follows the log and writes checkpoints of counts, so that counts in the past read a bounded number of entries (store/write/checkpoints.ts). */
import type { Database } from '../store/database.ts'
import {
  checkpointed,
  entriesSinceCheckpoint,
  fleetSpacing,
  moveCheckpointed,
  readCheckpointed,
  rolloutSpacing,
  walkEntries,
  writeCheckpoints,
} from '../store/write/checkpoints.ts'
import type { Duty } from './duties.ts'

const fleet = 0

export function createCheckpoints(database: Database): Duty {
  const { session } = database
  /** Entries since the last checkpoint, of the fleet and of rollouts. If another replica had the lease meanwhile, checkpoints are closer. */
  const entries = new Map<number, number>([[fleet, fleetSpacing]])

  return {
    name: checkpointed,
    interval: 0,
    budget: 4_000,
    async run({ isOver }) {
      for (;;) {
        const cursor = await readCheckpointed(session)
        const walked = cursor === null ? null : await walkEntries(session, cursor)
        if (cursor === null) return true
        if (walked === null) {
          // Without any checkpoint, counts by state of certain convergence would count the fleet's rows.
          if (entries.get(fleet) === fleetSpacing) {
            await writeCheckpoints(database, cursor, [fleet])
            entries.set(fleet, 0)
          }
          return true
        }
        const unknown = [...walked.entries.keys()].filter((key) => !entries.has(key))
        for (const [key, n] of await entriesSinceCheckpoint(session, unknown, cursor)) entries.set(key, n)
        const due: number[] = []
        for (const [key, n] of walked.entries) {
          const since = (entries.get(key) ?? 0) + n
          entries.set(key, since)
          if (since >= (key === fleet ? fleetSpacing : rolloutSpacing)) due.push(key)
        }
        if (due.length > 0) await writeCheckpoints(database, walked.revision, due)
        for (const key of due) entries.set(key, 0)
        await moveCheckpointed(session, walked.revision)
        if ((walked.entries.get(fleet) ?? 0) < fleetSpacing) return true
        if (isOver()) return false
      }
    },
  }
}
