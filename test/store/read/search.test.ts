/** The limit of the names that a search examines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { step } from '../../../src/store/projection.ts'
import { type SearchKind, search } from '../../../src/store/read/search.ts'
import { searchProjection } from '../../../src/store/write/derived/search-entries.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { readPlans } from './plan.ts'

describe.each(stores)('search on $name', (store) => {
  let empty: EmptyStore
  let database: Database

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await database.session.run(
      `insert into targets (created_revision, key, kind, provider, name, labels, registered, connectivity)
       values (1, 1, 'CLUSTER', 'p', 'site-zone', '[]', false, 'UNKNOWN'), (1, 2, 'CLOUD_REGION', '', 'a-site', '[]', false, 'UNKNOWN')`,
    )
    await database.session.run(
      `insert into targets (created_revision, key, kind, provider, name, labels, registered, connectivity)
       select 1, 10 + i, 'DEVICE', '', 'site-' || i, '[]', false, 'UNKNOWN' from generate_series(1, 2000) i`,
    )
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  const namesOf = async (kind: SearchKind, examined: number, text = 'site'): Promise<string[]> =>
    (await search(database.session, text, [kind], 10, examined)).map(({ name }) => name)

  it('finds clusters among any number of devices, by their beginning and by a part', async () => {
    expect(await namesOf('CLUSTER', 100)).toEqual(['site-zone', 'a-site'])
    expect(await namesOf('DEVICE', 3)).toEqual(['site-1', 'site-10', 'site-100'])
  })

  it('finds parts of the names of all deployments and their devices, as soon as they are indexed', async () => {
    await database.session.run(
      `insert into rollouts (created_at, activity_revision, activity_at, changed_revision, changed_at, key, kind, identity, name, created_revision, installed)
       select now(), 1, now(), 1, now(), i, case when i = 1 then 'DEPLOYMENT_INTENT_GROUP' else 'MARGO_DEPLOYMENT' end::rollout_kind, 'r-' || i,
         case when i = 1 then 'Old pump-77 intent' else 'Pump-' || i end, 1, 1 from generate_series(1, 900) i`,
    )
    await database.session.run(
      `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at,
         changed_at, revision, marks)
       select 5000 + i, 'Pump-' || i, 'site-' || i, 10 + i, i, 'INSTALLED', true, '[]', true, 1, now(), now(), i, '{}' from generate_series(1, 900) i`,
    )
    expect(await namesOf('DEPLOYMENT', 3, 'ump-77')).toEqual([])
    const index = async () => step(database, searchProjection, 1_000)
    while (await index());
    expect(await namesOf('DEPLOYMENT', 20, 'uMp-77')).toEqual(Array.from({ length: 10 }, (_, i) => `Pump-77${i}`))
    expect(await namesOf('DEVICE', 20, 'ite-77')).toEqual(Array.from({ length: 10 }, (_, i) => `site-77${i}`))
    expect(await namesOf('ROLLOUT', 20, 'mp-77')).toEqual(Array.from({ length: 10 }, (_, i) => `Pump-77${i}`))
    expect(await namesOf('ROLLOUT', 20, 'mp-77 i')).toEqual(['Old pump-77 intent'])
    // Too short for the index: the newest.
    expect(await namesOf('DEPLOYMENT', 20, '77')).toEqual([])
  })

  it('reads no device to find clusters', async () => {
    await database.session.run('analyze targets')
    const { session, rows } = readPlans(database.session)
    await search(session, 'site', ['CLUSTER'], 10)
    expect(rows()).toBeLessThan(100)
  })
})
