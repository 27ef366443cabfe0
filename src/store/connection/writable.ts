/** Whether the database takes what is written: it may answer every question and refuse that. */
import type { Database } from '../database.ts'

/** On the writer's connection: a setting may differ between connections that began before and after it was changed. */
export async function isReadOnly(database: Database): Promise<boolean> {
  return database.transaction(async (session) => {
    const [row] = await session.run<{ answer: boolean }>(
      `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as answer`,
    )
    return row?.answer ?? false
  })
}

const undone = new Error('what was written for a probe is undone')

/** Writes as much as a small batch, which does not fit what is left of a full disk's last pages, and undoes it. Throws what a batch would meet. */
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
