/** Follows the log and writes checkpoints of counts, so that counts in the past read a bounded number of entries (store/write/derived/checkpoints.ts). */
import type { Database } from '../../store/database.ts'
import {
  checkpointsDuty,
  entriesSinceCheckpoint,
  fleetSpacing,
  largeRollouts,
  moveCheckpointed,
  rolloutSpacing,
  type Walked,
  walkEntries,
  writeCheckpoints,
} from '../../store/write/derived/checkpoints.ts'
import type { Duty } from './duties.ts'

const fleet = 0
/** Entries after which the number since the rollout's last checkpoint is looked up: most rollouts have fewer, and cost no look-up. */
const looked = 100
/** Rollouts with counted entries. Beyond it, those that have few are counted anew. */
const mostCounted = 100_000

interface Count {
  /** Entries since the last checkpoint, or since this server has counted. */
  readonly n: number
  readonly isWhole: boolean
}

export function createCheckpoints(database: Database): Duty {
  const { session } = database
  /** Of the fleet. If another replica had the lease meanwhile, checkpoints are closer. */
  let ofFleet = fleetSpacing
  const counts = new Map<number, Count>()

  /** Counts the entries that were read, and returns the rollouts whose checkpoint is due. */
  async function count({ byRollout, revision }: Walked): Promise<number[]> {
    const large: number[] = []
    for (const [key, more] of byRollout) {
      const { n, isWhole } = counts.get(key) ?? { n: 0, isWhole: false }
      counts.set(key, { n: n + more, isWhole })
      if (!isWhole && n + more >= looked) large.push(key)
    }
    for (const [key, n] of await entriesSinceCheckpoint(session, large, revision)) counts.set(key, { n, isWhole: true })
    if (counts.size > mostCounted) for (const [key, { n }] of counts) if (n < looked) counts.delete(key)
    return byRollout.map(([key]) => key).filter((key) => (counts.get(key)?.n ?? 0) >= rolloutSpacing)
  }

  /**
   * Writes the checkpoints that are due after the next entries, and returns how many there were. The first checkpoint of the fleet is due without entries:
   * otherwise counts by state of certain convergence would count the fleet's rows.
   */
  async function pass(): Promise<number> {
    const walked = await walkEntries(session)
    ofFleet += walked.entries
    const isFleetDue = ofFleet >= fleetSpacing
    const rollouts = await count(walked)
    const due = [...(isFleetDue ? [fleet] : []), ...(await largeRollouts(session, rollouts))]
    if (due.length > 0) await writeCheckpoints(database, walked.revision, due)
    if (isFleetDue) ofFleet = 0
    for (const key of rollouts) counts.set(key, { n: 0, isWhole: true })
    if (walked.entries > 0) await moveCheckpointed(session, walked.revision)
    return walked.entries
  }

  return {
    name: checkpointsDuty,
    interval: 0,
    budget: 4_000,
    async run({ isOver }) {
      while ((await pass()) === fleetSpacing) if (isOver()) return false
      return true
    },
  }
}
