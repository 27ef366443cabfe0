import { expect, it } from 'vitest'
import { recordReport } from '../../../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../../../src/store/connection/epoch.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import { countChanges } from '../../../../src/store/read/changes/change-counts.ts'
import { pageChanges, readLog } from '../../../../src/store/read/changes/changes.ts'
import { deploymentsByKey } from '../../../../src/store/read/deployments.ts'
import { resolvePast } from '../../../../src/store/read/past.ts'
import { findExpired, partitionedTables } from '../../../../src/store/write/partitions.ts'
import { pruneHistory } from '../../../../src/store/write/retention.ts'
import { report } from '../../../support/clients/reports.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { divideTables } from '../../../support/databases/partitions.ts'
import { stores } from '../../../support/databases/stores.ts'
import { inSnapshot, live, liveBy } from '../history.ts'

it.each(stores)('the past reaches back over epochs, and has nothing between them, on $name', async (store) => {
  const empty = await store.create()
  const database = await empty.open()
  try {
    const start = await inSnapshot(database, async ({ head }) => (await head).revision)
    const before = (await live(database, 41, 15)).moments.at(-1)
    const ended = before?.revision ?? 0
    await database.transaction((session) => beginEpoch(session, Date.now() + 60_000))
    const base = await inSnapshot(database, async ({ head }) => (await head).revision)
    const after = (await live(database, 42, 15)).moments.at(-1)
    const head = after?.revision ?? 0
    expect(base).toBeGreaterThan(ended + 1)

    await inSnapshot(database, async (snapshot) => {
      const at = (revision: number) => resolvePast(snapshot, { asOf: null, atRevision: String(revision) })
      for (const revision of [start, ended, base, head]) expect(await at(revision)).toBe(revision)
      for (const revision of [start - 1, ended + 1, base - 1, head + 1])
        await expect(at(revision)).rejects.toMatchObject({ code: 'HISTORY_EXPIRED' })
    })
    const keys = before?.deployments.map(({ key }) => key) ?? []
    const then = await deploymentsByKey(database.session, keys, ended)
    expect(keys.map((key) => then.get(key)?.state)).toEqual(before?.deployments.map(({ state }) => state))
    expect(await deploymentsByKey(database.session, keys, base)).toEqual(
      new Map([...then].map(([key, deployment]) => [key, { ...deployment, asOf: base }])),
    )

    const log = await readLog(database.session, start, 10_000)
    expect(log).toHaveLength(ended - start + (head - base))
    expect(await countChanges(database.session, { of: 'fleet' }, {}, null)).toEqual(new Map([[0, log.length]]))
    expect(await countChanges(database.session, { of: 'fleet' }, {}, ended)).toEqual(new Map([[0, ended - start]]))
    // A scan steps over what lies between two epochs, however far apart they are.
    const moves = log.filter(({ kind }) => kind === 'DEPLOYMENT_REVISED')
    const page = { size: 100, after: null, before: null, backward: true }
    const filter = { kinds: ['DEPLOYMENT_REVISED'] } as const
    const found = await pageChanges(database.session, { of: 'fleet' }, filter, page, null, {
      span: 10,
      windows: 100,
      budget: 1e6,
      counted: 100,
      ofRollouts: 0,
      deployments: 0,
    })
    expect(found.get(0)?.edges.map(({ node }) => node)).toEqual(moves)

    for (let removed = 1; removed > 0; ) removed = await pruneHistory(database, (before?.at ?? 0) + 1, 100)
    const states = 'select until > tail as kept, count(*)::int > 0 as some from past_deployments, log_head group by 1'
    expect(await database.session.run(states)).toEqual([{ kept: true, some: true }])
    expect(await countChanges(database.session, { of: 'fleet' }, {}, null)).toEqual(new Map([[0, head - base]]))
    await inSnapshot(database, async (snapshot) => {
      const at = (revision: number) => resolvePast(snapshot, { asOf: null, atRevision: String(revision) })
      for (const revision of [ended, base, head]) expect(await at(revision)).toBe(revision)
      await expect(at(ended - 1)).rejects.toMatchObject({ code: 'HISTORY_EXPIRED' })
    })
  } finally {
    await database.close()
    await empty.drop()
  }
})

it.each(stores)('history of a clock that was ahead is kept as long as its times say, on $name', async (store) => {
  const database = await openFresh(store)
  const { session } = database
  const [second, day] = [1_000, 86_400_000]
  const began = Math.ceil((await readHead(session)).at / day) * day + second
  const change = (at: number) => liveBy(database, at).submit(recordReport(report({ reporter: `of-${at}` })))
  await change(began)
  const { revision: old } = await readHead(session)
  await change(began + 30 * day)
  await database.transaction((own) => beginEpoch(own, began + second, { timeFromClock: true }))
  await change(began + 20 * second)
  for (let removed = 1; removed > 0; ) removed = await pruneHistory(database, began + day, 100)
  expect(await session.run('select at from change_log order by first_revision')).toEqual([
    { at: began + 30 * day },
    { at: began + 20 * second },
  ])
  // Rounded up: it does not tell when the first change was recorded.
  expect(await readHead(session)).toMatchObject({ tail: old, tailAt: began + 9 * second })

  await divideTables(database, 0)
  await change(began + 30 * second)
  const expired = async (before: number) => {
    const [log] = partitionedTables
    return log && (await findExpired(session, log, before)).length
  }
  expect([await expired(began + day), await expired(began + 31 * day)]).toEqual([0, 1])
})
