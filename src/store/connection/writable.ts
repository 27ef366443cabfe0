/** Checks whether the database accepts writes: it may answer every read and refuse writes. */
import type { Database, Session } from '../database.ts'

/** Needs the session of the writer's connection: a setting may differ between connections that began before and after its change. */
export async function isReadOnly(session: Pick<Session, 'run'>): Promise<boolean> {
  const [row] = await session.run<{ answer: boolean }>(
    `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as answer`,
  )
  return row?.answer ?? false
}

const undone = new Error('the write of a probe is rolled back')

/** Writes as much as a small batch and rolls it back. So much does not fit in the last pages of a full disk. Throws the error that a batch would get. */
export async function probeWriting(database: Database): Promise<void> {
  const filler = Array.from({ length: 4_000 }, () => crypto.randomUUID()).join('')
  await database
    .transaction(async (session) => {
      await session.run(`select 1 from log_head where id = 1 for update`)
      await session.run(`insert into batches (id, at, outcomes) values ($1, now(), to_json($2::text))`, [
        `probe-${crypto.randomUUID()}`,
        filler,
      ])
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
}
