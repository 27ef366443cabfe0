/**
 * The time that replicas share: the database's. A server's own clock may be an hour off, and would hold its leases, or find devices
 * silent, for so much longer or sooner than the others. Asking the database each time would cost a round trip each; so its clock is read now
 * and then, and between two readings the process's monotonic clock goes on from it. A step of the server's own clock changes nothing.
 *
 * The embedded database has the process's own clock: it is read once.
 */
import type { Millis } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'

export interface DatabaseClock {
  readonly now: () => Millis
  close(): void
}

export interface DatabaseClockOptions {
  readonly failed?: (error: unknown) => void
  /** Milliseconds between readings. */
  readonly interval?: number
}

/** Milliseconds. An answer that took longer says less than the reading before it. */
const slowest = 1_000

export async function readClock(session: Session): Promise<Millis> {
  const [row] = await session.run<{ now: Millis }>('select clock_timestamp() as now')
  if (!row) throw new Error('the database did not say what time it is')
  return row.now
}

export async function createDatabaseClock(
  { kind, session }: Pick<Database, 'kind' | 'session'>,
  { failed = () => {}, interval = 10_000 }: DatabaseClockOptions = {},
): Promise<DatabaseClock> {
  /** What the database's clock shows when ours shows nothing. */
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
