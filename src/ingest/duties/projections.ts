/** The duties that make projections (store/projection.ts), a few seconds behind the writer. */
import type { Millis, Revision } from '../../domain/values.ts'
import { readHead } from '../../store/connection/log-head.ts'
import type { Database } from '../../store/database.ts'
import { type Projection, step } from '../../store/projection.ts'
import type { Duty } from './duties.ts'

/**
 * The first statement of a round reads so many. Each further statement doubles them. If a busy machine cancels a long statement, the next round begins
 * with a short one. With a constant number, the projection could stop for as long as the machine is busy.
 */
const fewest = 50

export function createProjecting(database: Pick<Database, 'session' | 'alter' | 'kind'>, projection: Projection): Duty {
  const { name, inBlocks, delay } = projection
  const most = projection.most[database.kind]
  /** Heads of the log, oldest first, with the time of the reading, because the log's own time may have jumped. */
  const seen: { readonly revision: Revision; readonly at: Millis }[] = []

  /** The newest revision that was there before the delay. Null: not known yet. */
  async function newestBefore(time: Millis, now: Millis): Promise<Revision | null> {
    const { revision } = await readHead(database.session)
    seen.push({ revision, at: now })
    const old = seen.findLastIndex(({ at }) => at <= time)
    if (old > 0) seen.splice(0, old)
    return old < 0 ? null : (seen[0]?.revision ?? null)
  }

  return {
    name,
    interval: 0,
    budget: 4_000,
    async run({ now, isOver }) {
      const upTo = delay ? await newestBefore(now - delay, now) : Number.POSITIVE_INFINITY
      if (upTo === null) return true
      for (let limit = inBlocks ? most : fewest; ; limit = Math.min(2 * limit, most)) {
        const made = await step(database, projection, limit, upTo)
        if (!made?.hasMore) return true
        if (isOver()) return false
      }
    },
  }
}
