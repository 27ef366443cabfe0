/**
 * Replicas share the time of the database. A server's own clock may be an hour wrong, and its leases and the silence of devices would be
 * wrong by as much. A question to the database for each time would cost a round trip. So the clock of the database is read periodically, and the
 * process's monotonic clock continues from the reading. A step of the server's own clock has no effect.
 *
 * The embedded database has the clock of the process, so it is read once.
 */
import type { Millis } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'

interface DatabaseClock {
  readonly now: () => Millis
  close(): void
}

interface DatabaseClockOptions {
  readonly failed?: (error: unknown) => void
  /** Milliseconds between readings. */
  readonly interval?: number
}

/** Milliseconds. An answer that took longer is less accurate than the previous reading. */
const slowest = 1_000

export async function readClock(session: Session): Promise<Millis> {
  const [row] = await session.run<{ now: Millis }>('select clock_timestamp() as now')
  if (!row) throw new Error('the database did not return its time')
  return row.now
}

export async function createDatabaseClock(
  { kind, session }: Pick<Database, 'kind' | 'session'>,
  { failed = () => {}, interval = 10_000 }: DatabaseClockOptions = {},
): Promise<DatabaseClock> {
  /** The time of the database when the monotonic clock is 0. */
  let start = 0
  let isSet = false

  async function read(): Promise<void> {
    const asked = performance.now()
    const now = await readClock(session)
    const answered = performance.now()
    if (isSet && answered - asked > slowest) return
    start = now - (asked + answered) / 2
    isSet = true
  }

  await read()
  const timer = kind === 'pglite' ? undefined : setInterval(() => void read().catch(failed), interval).unref()
  return {
    now: () => Math.round(start + performance.now()),
    close: () => clearInterval(timer),
  }
}
