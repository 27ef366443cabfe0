/** A primary and its streaming standbys on loopback. */
import postgres from 'postgres'
import { expect, onTestFinished } from 'vitest'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database, Snapshot, StandbyState } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

export interface Pair {
  readonly primary: PostgresServer
  readonly standbys: readonly PostgresServer[]
  /** A database that reads the standbys, closed when the test is over. */
  open(lagLimit?: number): Promise<Database>
  /** The same, for a caller that closes it. */
  openKept(standbys?: readonly PostgresServer[], lagLimit?: number): Promise<Database>
  dispose(): Promise<void>
}

export async function startPair(count = 1): Promise<Pair> {
  const primary = await startPostgres()
  const standbys: PostgresServer[] = []
  for (let n = 0; n < count; n += 1) standbys.push(await startPostgres({ primary }))
  const openKept = (read: readonly PostgresServer[] = standbys, lagLimit = 60_000): Promise<Database> =>
    openDatabase({ url: primary.url, readUrls: read.map(({ url }) => url), lagLimit, dataDir: 'memory' })
  return {
    primary,
    standbys,
    openKept,
    async open(lagLimit) {
      const database = await openKept(standbys, lagLimit)
      onTestFinished(() => database.close())
      return database
    },
    async dispose() {
      for (const server of [...standbys, primary]) await server.dispose()
    },
  }
}

/** Runs a statement on the server, which may be a standby. */
export async function runOn(server: Pick<PostgresServer, 'url'>, text: string): Promise<readonly unknown[]> {
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  return [...(await sql.unsafe(text).finally(() => sql.end()))]
}

/** The standby receives the log and does not replay it. */
export const pause = (standby: PostgresServer) => runOn(standby, 'select pg_wal_replay_pause()')
export const resume = (standby: PostgresServer) => runOn(standby, 'select pg_wal_replay_resume()')

export const states = ({ standbys }: Database): readonly StandbyState[] => standbys?.states() ?? []
export const problems = (database: Database): (string | null)[] => states(database).map(({ problem }) => problem)

/** Waits until every standby is used. */
export function untilUsed(database: Database): Promise<void> {
  return expect.poll(() => problems(database)).toEqual(states(database).map(() => null))
}

/** Waits until every standby has what is committed now. */
export async function untilLevel(database: Database): Promise<void> {
  await look(database, 'present')
  const behind = () => states(database).map(({ lag }) => lag?.revisions)
  await expect.poll(behind).toEqual(states(database).map(() => 0))
}

/** Whether the snapshot reads a standby. */
export async function isOnStandby(snapshot: Snapshot): Promise<boolean> {
  const [row] = await snapshot.run<{ answer: boolean }>('select pg_is_in_recovery() as answer')
  return row?.answer ?? false
}

/** What a snapshot of that freshness shows. */
export async function look(database: Database, freshness: Parameters<Database['snapshot']>[1]) {
  const snapshot = await database.snapshot(undefined, freshness)
  try {
    const { revision } = await readHead(snapshot)
    return { revision, isOnStandby: await isOnStandby(snapshot) }
  } finally {
    await snapshot.close()
  }
}
