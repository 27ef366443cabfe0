import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../../store/database.ts'

/** Milliseconds that a statement waits for the one before it at most: a statement that hangs delays the other duties, and stops none. */
const longestWait = 1_000

/**
 * A session for the duties that follow the log. All are due at once, and on a small machine reports would wait for their statements. So the statements run one
 * at a time, and while this server acknowledges reports (`newest` increases), each is followed by a pause as long as it took.
 */
export function inTurn(session: Session, newest: () => Revision): Session {
  let last: Promise<void> = Promise.resolve()
  let seen = newest()

  async function run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]> {
    const before = last
    let end = (): void => {}
    last = new Promise((resolve) => {
      end = resolve
    })
    await Promise.race([before, pause(longestWait)])
    const began = performance.now()
    try {
      return await session.run<T>(text, parameters)
    } finally {
      const isBusy = newest() > seen
      seen = newest()
      if (isBusy) void pause(Math.min(performance.now() - began, longestWait)).then(end)
      else end()
    }
  }
  return { ...session, run }
}

function pause(time: Millis): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time).unref())
}
