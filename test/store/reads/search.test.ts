/** The limit of the names that a search examines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { type SearchKind, search } from '../../../src/store/read/search.ts'
import { type EmptyStore, stores } from '../../support/stores.ts'
import { readPlans } from './plan.ts'

describe.each(stores)('search on $name', (store) => {
  let empty: EmptyStore
  let database: Database

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await database.session.run(
      `insert into targets (key, kind, provider, name, labels, registered, connectivity)
       values (1, 'CLUSTER', 'p', 'site-zone', '[]', false, 'UNKNOWN'), (2, 'CLOUD_REGION', '', 'a-site', '[]', false, 'UNKNOWN')`,
    )
    await database.session.run(
      `insert into targets (key, kind, provider, name, labels, registered, connectivity)
       select 10 + i, 'DEVICE', '', 'site-' || i, '[]', false, 'UNKNOWN' from generate_series(1, 2000) i`,
    )
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  const namesOf = async (kind: SearchKind, examined: number): Promise<string[]> =>
    (await search(database.session, 'site', [kind], 10, examined)).map(({ name }) => name)

  it('finds clusters among any number of devices, by their beginning and by a part', async () => {
    expect(await namesOf('CLUSTER', 100)).toEqual(['site-zone', 'a-site'])
    expect(await namesOf('DEVICE', 3)).toEqual(['site-1', 'site-10', 'site-100'])
  })

  it('reads no device to find clusters', async () => {
    await database.session.run('analyze targets')
    const { session, rows } = readPlans(database.session)
    await search(session, 'site', ['CLUSTER'], 10)
    expect(rows()).toBeLessThan(100)
  })
})
