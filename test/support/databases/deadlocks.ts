import { expect } from 'vitest'
import { administer } from './postgres-admin.ts'
import { type EmptyStore, postgresUrl } from './stores.ts'

/** Deadlocks in a database that is closed: a session reports them to the statistics when it ends, at the latest. */
export async function countDeadlocks({ config }: EmptyStore): Promise<number> {
  const name = new URL(config.url ?? '').pathname.slice(1)
  let deadlocks = Number.NaN
  await administer(postgresUrl(), async (sql) => {
    const sessions = () => sql`select pid from pg_stat_activity where datname = ${name}`
    await expect.poll(async () => (await sessions()).length).toBe(0)
    const [row] = await sql<
      { deadlocks: number }[]
    >`select deadlocks::int from pg_stat_database where datname = ${name}`
    deadlocks = row?.deadlocks ?? deadlocks
  })
  return deadlocks
}
