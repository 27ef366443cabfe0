/** What all projections have in common: one server makes a step, and a later version is made beside the readers of the one before. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { covered, type Projection, rebuild, step } from '../../src/store/projection.ts'
import { summariesProjection } from '../../src/store/write/derived/change-summaries.ts'
import { searchProjection } from '../../src/store/write/derived/search-entries.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { type Store, stores } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'

const [former, later] = [searchProjection, { ...searchProjection, version: searchProjection.version + 1 }]

async function start(store: Store, reports: number) {
  const road = await createRoad(await openFresh(store))
  onTestFinished(() => road.close())
  const { database } = road
  const { session } = database
  const send = (n: number) => road.writer.submit(recordReport(report({ reporter: `edge-${n}`, deploymentId: 'd' })))
  for (let n = 0; n < reports; n += 1) await send(n)
  return {
    database,
    session,
    send,
    head: async () => (await readHead(session)).revision,
    coveredBy: async (projection: Projection) =>
      (await session.run<{ cursor: number }>(`select ${covered(projection)} as cursor`))[0]?.cursor,
    level: async (projection: Projection, limit = 100) => {
      while ((await step(database, projection, limit))?.hasMore);
    },
    rowsOf: (table: string) => session.run(`select * from ${table} order by 1`),
  }
}

describe.each(stores)('a projection on $name', (store) => {
  it('is made by one of two servers at a time', async () => {
    const { database, session, head, rowsOf } = await start(store, 6)
    // Both begin before the other has ended.
    const reached = Promise.withResolvers<void>()
    let waiting = 0
    const run: typeof session.run = async (text, parameters) => {
      if (text.includes('with turn as')) {
        waiting += 1
        if (waiting === 2) reached.resolve()
        await reached.promise
      }
      return session.run(text, parameters)
    }
    const other = { ...database, session: { ...session, run } }
    const made = await Promise.all([step(other, summariesProjection, 3), step(other, summariesProjection, 3)])
    expect(made.filter((one) => one === null)).toHaveLength(1)
    expect(await rowsOf('change_summaries')).toHaveLength(1)
    await step(database, summariesProjection, 3)
    expect((await rowsOf('change_summaries')).map((row) => (row as { entries: number }).entries)).toEqual([3, 3])
    expect(await step(database, summariesProjection, 3)).toBeNull()
    expect(await head()).toBe(((await rowsOf('change_summaries')) as { last_revision: number }[]).at(-1)?.last_revision)
  })

  it('of deployments is made anew at a later version, while readers of the former use what is there', async () => {
    const { database, send, head, coveredBy, level, rowsOf } = await start(store, 6)
    await level(former)
    const [known, rows] = [await head(), await rowsOf('deployment_search')]
    expect(await coveredBy(former)).toBe(known)
    expect(await coveredBy(later)).toBe(0)

    await step(database, later, 2)
    expect(await coveredBy(former)).toBe(known)
    expect(await coveredBy(later)).toBeLessThan(known)
    expect(await coveredBy(later)).toBeGreaterThan(0)
    expect(await rowsOf('deployment_search')).toEqual(rows)
    // A server of the former version leaves it alone.
    await send(7)
    expect(await step(database, former, 100)).toBeNull()
    expect(await rowsOf('deployment_search')).toEqual(rows)

    await level(later, 2)
    expect(await coveredBy(later)).toBe(await head())
    expect(await rowsOf('deployment_search')).toHaveLength(7)
  })

  it('of deployments is used while an operator lets it be made again', async () => {
    const { database, session, head, coveredBy, level, rowsOf } = await start(store, 6)
    await level(former)
    const rows = await rowsOf('deployment_search')
    await session.run("update deployment_search set terms = '{}'")
    await rebuild(database, former)
    await rebuild(database, former)
    expect(await coveredBy(former)).toBe(await head())
    await level(former, 2)
    expect(await rowsOf('deployment_search')).toEqual(rows)
    expect(await session.run("select cursor from duties where name = 'search'")).toEqual([{ cursor: await head() }])
  })

  it('of entries begins without rows, because its rows add up', async () => {
    const { database, coveredBy, rowsOf } = await start(store, 6)
    while (await step(database, summariesProjection, 3));
    const rows = await rowsOf('change_summaries')
    const next = { ...summariesProjection, version: 2 }
    expect(await step(database, next, 100)).toBeNull()
    expect(await rowsOf('change_summaries')).toEqual([])
    expect([await coveredBy(summariesProjection), await coveredBy(next)]).toEqual([0, 0])
    while (await step(database, next, 3));
    expect(await rowsOf('change_summaries')).toEqual(rows)
    expect(await coveredBy(summariesProjection)).toBe(0)
    // As another server would that has found the former version.
    await rebuild(database, next, 'if older')
    expect(await rowsOf('change_summaries')).toEqual(rows)
    await rebuild(database, next)
    expect(await rowsOf('change_summaries')).toEqual([])
  })
})
