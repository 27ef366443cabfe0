import type { Revision } from '../../domain/values.ts'
import type { Session } from '../../store/database.ts'

/** Milliseconds of a turn at most: a statement that hangs delays the other duties, and stops none. */
const longestTurn = 1_000

/**
 * A session for the duties that follow the log. All are due at once, and on a small machine reports would wait for their statements. So the statements run one
 * at a time, and while this server acknowledges reports (`newest` increases), each is followed by a pause as long as it took.
 */
export function inTurn(session: Session, newest: () => Revision): Session {
  let last: Promise<void> = Promise.resolve()
  let seen = newest()

  async function run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]> {
    const before = last
    const { promise, resolve: end } = Promise.withResolvers<void>()
    last = promise
    await before
    const began = performance.now()
    const overdue = setTimeout(end, longestTurn).unref()
    try {
      return await session.run<T>(text, parameters)
    } finally {
      const isBusy = newest() > seen
      seen = newest()
      clearTimeout(overdue)
      if (isBusy) setTimeout(end, performance.now() - began).unref()
      else end()
    }
  }
  return { ...session, run }
}
