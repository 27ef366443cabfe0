/** Databases on the PostgreSQL under test. */
import postgres from 'postgres'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import { migrate } from '../../../src/store/migration/migrate.ts'

export async function administer(url: string, act: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await act(sql)
  } finally {
    await sql.end()
  }
}

export function urlOf(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** A database with all tables and no epoch, to be copied. */
export async function makeTemplate(server: string, name: string): Promise<void> {
  await administer(server, (sql) => sql.unsafe(`create database ${name}`))
  const database = openPostgres({ url: urlOf(server, name), readers: 1 })
  await migrate(database).finally(() => database.close())
}
