import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StatusReport } from '../../../src/domain/report.ts'
import type { Revision } from '../../../src/domain/values.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import type { Database } from '../../../src/store/database.ts'
import { findDeployments } from '../../../src/store/read/deployments.ts'
import { countReports, pageReports } from '../../../src/store/read/reports/reports.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { liveBy } from './history.ts'

const installing: StatusReport = {
  reporter: 'alpha',
  deploymentId: 'web',
  deviceId: null,
  state: 'INSTALLING',
  error: null,
  components: [{ name: 'api', state: 'INSTALLING', error: null }],
  adoptedManifestVersion: '18446744073709551615',
  seq: '7',
  boot: 'b1',
  observedAt: 1_700_000_000_123,
  dialect: 'margo/test',
}

describe.each(stores)('the reports kept on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let keys: readonly number[]
  const revisions: Revision[] = []

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    const { submit, tick } = liveBy(database)
    const report = async (more: Partial<StatusReport>): Promise<void> => {
      tick(1_000)
      revisions.push((await submit(recordReport({ ...installing, ...more }))).revision)
    }
    await report({})
    await report({ state: 'FAILED', seq: '8', error: { code: 'E1', message: 'no', source: 'api' } })
    await report({ seq: '8', state: 'FAILED', error: { code: 'E1', message: 'no', source: 'api' } })
    await report({ seq: '6' })
    await report({ seq: '9', state: 'INSTALLED' })
    await report({ reporter: 'beta' })
    keys = (await findDeployments(database.session, 'web', null, null)).map(({ key }) => key)
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('are those that were applied or stale, in the order in which they were heard', async () => {
    const all = await pageReports(
      database.session,
      keys,
      { size: 100, after: null, before: null, backward: false },
      null,
    )
    const [alpha = [], beta = []] = keys.map((key) => all.get(key)?.edges.map(({ node }) => node))
    expect(alpha.map(({ verdict, seq }) => [verdict, seq])).toEqual([
      ['APPLIED', '7'],
      ['APPLIED', '8'],
      ['STALE', '6'],
      ['APPLIED', '9'],
    ])
    expect(alpha[0]).toMatchObject({
      deploymentKey: keys[0],
      staleBy: null,
      reportedAt: 1_700_000_000_123,
      adoptedManifestVersion: '18446744073709551615',
      boot: 'b1',
      state: 'INSTALLING',
      revision: revisions[0],
      dialect: 'margo/test',
    })
    expect(alpha[2]).toMatchObject({ staleBy: 'seq', revision: null })
    // A page of them could otherwise hold a hundred mebibytes that no answer shows.
    for (const report of alpha) expect(Object.keys(report)).not.toContain('components')
    expect(beta).toHaveLength(1)
    expect(await countReports(database.session, [...keys, 999_999], null)).toEqual(
      new Map([
        [keys[0], 4],
        [keys[1], 1],
        [999_999, 0],
      ]),
    )
  })

  it('come in pages both ways', async () => {
    const [key = 0] = keys
    const ask = async (bounds: { after?: string; before?: string; backward?: boolean }) => {
      const page = { size: 3, after: null, before: null, backward: false, ...bounds }
      return (await pageReports(database.session, [key], page, null)).get(key)
    }
    const first = await ask({})
    expect(first).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    const second = await ask({ after: first?.edges.at(-1)?.cursor ?? '' })
    expect(second?.edges.map(({ node }) => node.seq)).toEqual(['9'])
    expect(second).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
    const back = await ask({ before: second?.edges[0]?.cursor ?? '', backward: true })
    expect(back?.edges).toEqual(first?.edges)
    await expect(ask({ after: 'x' })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
  })

  it('were fewer in the past', async () => {
    const heard = await Promise.all(
      revisions.map(async (revision) =>
        (await countReports(database.session, [keys[0] ?? 0], revision)).get(keys[0] ?? 0),
      ),
    )
    // The repeat and the stale one made no revision, so the third and the fourth ask for the same moment as the second.
    expect(heard).toEqual([1, 2, 2, 2, 4, 4])
  })
})
