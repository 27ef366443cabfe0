/**
 * Changes of tables that wait for their locks only for a moment, because every other user of a table queues up behind them. One that did not get its
 * lock leaves the table to the others, and begins anew.
 *
 * An autovacuum keeps its lock for minutes. It gives way to a change that has waited for it as long as PostgreSQL takes to look for deadlocks. So where a
 * vacuum is running, each fifth attempt waits for that long. All attempts would stop reports for a second each, if the lock is another's.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from '../database.ts'

interface Patience {
  /** Milliseconds that an attempt waits for a lock: less than `deadlock_timeout`, so it never makes PostgreSQL end another transaction. */
  readonly limit: number
  readonly attempts: number
  /** Milliseconds after an attempt. The first is 1. */
  pause(attempt: number): number
}

const every = 5

/** `change` gets the milliseconds for its `lock_timeout`, and has changed nothing if it throws. */
export async function attemptChange(
  session: Session,
  { limit, attempts, pause }: Patience,
  change: (lockLimit: number) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let lockLimit = limit
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change(lockLimit)
    } catch (error) {
      const isLocked = error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
      if (!isLocked || attempt === attempts || signal?.aborted) throw error
      lockLimit = (attempt % every === 1 && (await limitForVacuum(session))) || limit
      await sleep(pause(attempt))
    }
  }
}

/** Null: no vacuum is running. Roles that may not see whose process it is see its lock, which is also that of ANALYZE and CREATE INDEX CONCURRENTLY. */
async function limitForVacuum(session: Session): Promise<number | null> {
  const [row] = await session.run<{ limit: number }>(
    `select setting::int + 200 as limit from pg_settings where name = 'deadlock_timeout' and exists (
       select from pg_locks l join pg_database d on d.oid = l.database
       where d.datname = current_database() and l.mode = 'ShareUpdateExclusiveLock' and l.granted and l.pid <> pg_backend_pid())`,
  )
  return row?.limit ?? null
}
