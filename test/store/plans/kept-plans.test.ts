/**
 * A connection keeps its plans while the tables grow. A server that starts with an empty database has planned its statements for empty tables, and
 * one that starts with ten devices for ten. They must still cost what they read and write when the fleet has come.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { type Connection, openConnection } from '../../../src/store/connection/connection.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { createTarget } from '../../../src/store/connection/target/target.ts'
import { sessionOf } from '../../../src/store/connection/transaction.ts'
import type { Session } from '../../../src/store/database.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { analyzeTable, findUnanalyzed } from '../../../src/store/write/upkeep.ts'
import { report } from '../../support/clients/reports.ts'
import { type EmptyStore, type Store, stores } from '../../support/databases/stores.ts'
import {
  deployments,
  fill,
  type Measured,
  measure,
  measuring,
  withoutStatistics,
} from '../../support/databases/young-database.ts'
import { isDeep } from '../../support/runner/depth.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

const count = 20
/** After five executions the planner may choose a plan for any values, and keep it. */
const rounds = 8

async function report20(road: Road, from: number, names: string): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, n) =>
      road.writer.submit(
        recordReport(report({ reporter: `edge${names}-${from + n}`, deploymentId: `d${names}-${from + n}` })),
      ),
    ),
  )
}

interface Case {
  readonly it: string
  readonly store: Store
  readonly hasStatistics: boolean
}

/** Reads on the connection that the session has, as a subscriber's server does. */
async function readNewest(session: Session, found?: Measured[]): Promise<number> {
  const { revision } = await readHead(session)
  const run: Session['run'] = async (text, parameters = []) => {
    found?.push(await measure(session, text, parameters))
    return session.run(text, parameters)
  }
  return (await readLog(sessionOf(run), revision - count, 1_000)).length
}

const cases = stores.flatMap((store): Case[] => [
  { it: `empty tables on ${store.name}`, store, hasStatistics: false },
  // Takes twice as long on PGlite, and plans by the same rules.
  ...(store.name === 'PostgreSQL' || isDeep
    ? [{ it: `the statistics of ${count} devices on ${store.name}`, store, hasStatistics: true }]
    : []),
])

describe.each(cases)('plans made for $it', ({ store, hasStatistics }) => {
  const found: Measured[] = []
  let empty: EmptyStore
  let road: Road
  let reader: Connection | null = null
  beforeAll(async () => {
    empty = await store.create()
    const database = await empty.open()
    const { session } = database
    await withoutStatistics(session)
    // The keys of `fill` are below.
    await session.run('update log_head set next_key = 1000000')
    road = await createRoad(measuring(database, found))
    for (let round = 0; round < rounds; round += 1) {
      await report20(road, count * round, '-before')
      await report20(road, 0, '-before')
      if (round === 0 && hasStatistics) await session.run('analyze')
    }
    // A reader of the embedded database uses the one connection.
    if (empty.config.url)
      reader = openConnection({ target: createTarget(empty.config.url), settings: {}, timeout: 60_000 })
    for (let round = 0; round < rounds; round += 1) await readNewest(reader ? sessionOf(reader.run) : session)
    await fill(session)
    // The embedded database has no connection of the writer's own, with settings of its own: the duty comes within five seconds.
    if (!empty.config.url) await collectStatistics(session)
    found.length = 0
  })
  afterAll(async () => {
    await reader?.close()
    await road.close()
    await empty.drop()
  })

  it.each([
    { it: 'known reports', from: 1 },
    { it: 'first reports', from: deployments + 1 },
    { it: 'more first reports', from: deployments + 101 },
  ])('write $it at the cost of so many', async ({ from }) => {
    found.length = 0
    await report20(road, from, '')
    expect(found.length).toBeGreaterThan(0)
    for (const { text, buffers } of found) expect(buffers, text).toBeLessThan(100 + 100 * count)
  })

  it('are made again for readers, within a round of the duty that collects statistics', async () => {
    await collectStatistics(road.database.session)
    const measured: Measured[] = []
    const read = (session: Session) => readNewest(session, measured)
    const rows = reader ? await inTransaction(reader, read) : await road.database.transaction(read)
    expect(rows).toBe(count)
    expect(measured).toHaveLength(1)
    for (const { text, buffers } of measured) expect(buffers, text).toBeLessThan(20 + 12 * count)
  })
})

async function collectStatistics(session: Session): Promise<void> {
  for (const table of await findUnanalyzed(session)) await analyzeTable(session, table)
}

async function inTransaction<T>({ run }: Connection, work: (session: Session) => Promise<T>): Promise<T> {
  await run('begin')
  try {
    return await work(sessionOf(run))
  } finally {
    await run('rollback')
  }
}
