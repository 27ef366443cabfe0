/** What reports leave behind in a database: bytes of the write-ahead log, of the disk and of rows. */
import postgres from 'postgres'

export interface Written {
  /** Bytes that PostgreSQL has written to its write-ahead log so far, for all of its databases. */
  wal(): Promise<number>
  /** Bytes on the disk of all tables of this database with their indexes. */
  disk(): Promise<number>
  /** Bytes of an entry of the log, with the former state that it ended, if a table has it. */
  entry(): Promise<number>
  close(): Promise<void>
}

export function watchWritten(url: string): Written {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const first = async (text: string): Promise<number> => Number((await sql.unsafe(text))[0]?.value)
  return {
    wal: () => first(`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as value`),
    disk: () =>
      first(
        `select sum(pg_total_relation_size(oid)) as value from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
      ),
    async entry() {
      const sizes = async (table: string): Promise<number> =>
        first(
          `select sum(pg_column_size(t.*)) as value from ${table} t where exists (select from pg_class where relname = '${table}')`,
        )
      const [{ has } = { has: false }] = await sql`select to_regclass('past_deployments') is not null as has`
      const bytes = (await sizes('change_log')) + (has ? await sizes('past_deployments') : 0)
      return bytes / (await first('select count(*) as value from change_log'))
    },
    close: () => sql.end({ timeout: 1 }),
  }
}
