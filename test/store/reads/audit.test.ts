import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { audit } from '../../../src/store/read/audit.ts'
import { type EmptyStore, stores } from '../../support/stores.ts'
import { inSnapshot, live, watched } from './history.ts'

describe.each(stores)('the audit on $name', (store) => {
  let empty: EmptyStore
  let database: Database

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await live(database, 31, 60)
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('finds nothing after any life, however small its steps', async () => {
    for (const step of [1, 3, 5_000])
      expect(await inSnapshot(database, (snapshot) => audit(snapshot, step))).toEqual([])
    const { session, statements } = watched(database.session)
    await audit(session)
    expect(statements.length).toBeLessThanOrEqual(6)
  })

  it('finds every counter that is off', async () => {
    await database.transaction(async (session) => {
      await session.run('update log_head set failed = failed + 2')
      await session.run(`update rollouts set removing = removing + 1 where kind = 'DECLARED' and name = 'spring'`)
    })
    const drift = await inSnapshot(database, (snapshot) => audit(snapshot, 2))
    const off = drift.map(({ scope, field, counted, recounted }) => [scope, field, counted - recounted])
    expect(off.filter(([scope]) => scope === 'fleet')).toEqual([['fleet', 'failed', 2]])
    const springs = off.filter(([scope]) => scope !== 'fleet')
    expect(springs.length).toBeGreaterThan(0)
    for (const spring of springs) expect(spring).toEqual(['rollout:spring', 'removing', 1])
  })
})
