import { describe, expect, it } from 'vitest'
import { readyTemplate } from '../../../src/store/connection/embedded/make-template.mjs'
import { openPglite } from '../../../src/store/connection/embedded/pglite.ts'
import { isTransient, lost } from '../../../src/store/connection/failure.ts'
import { openSnapshot } from '../../../src/store/connection/transaction.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { everyStore } from '../../support/databases/stores.ts'

const insert = (name: string): string => `insert into leases values ('${name}', 'me', now(), now())`

describe.each(everyStore)('a transaction on $name', (store) => {
  it('is rolled back when a statement failed in it, even if the caller ignored the error', async () => {
    const database = await openFresh(store)
    const careless = database.transaction(async (session) => {
      await session.run(insert('a'))
      await session.run('select 1 / 0').catch(() => undefined)
    })
    await expect(careless).rejects.toMatchObject({ code: '22012' })
    expect(await database.session.run('select name from leases')).toEqual([])
  })

  it('is over when it is over', async () => {
    const database = await openFresh(store)
    const session = await database.transaction(async (given) => given)
    await expect(session.run(insert('b'))).rejects.toThrow('is over')
    const snapshot = await database.snapshot()
    await snapshot.close()
    await expect(snapshot.run('select 1')).rejects.toThrow('is over')
  })

  it('takes many statements at once, in order', async () => {
    const database = await openFresh(store)
    await database.transaction(async (session) => {
      await Promise.all(['c', 'd', 'e'].map((name) => session.run(insert(name))))
    })
    const snapshot = await database.snapshot()
    const counts = await Promise.all([1, 2, 3].map(() => snapshot.run('select count(*) as n from leases')))
    await snapshot.close()
    expect(counts).toEqual([[{ n: 3 }], [{ n: 3 }], [{ n: 3 }]])
  })

  it('keeps apart what runs at the same time', async () => {
    const database = await openFresh(store)
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`)
    const reads = names.map(async () => {
      const snapshot = await database.snapshot()
      const before = await snapshot.run('select count(*) as n from leases')
      const after = await snapshot.run('select count(*) as n from leases')
      await snapshot.close()
      expect(after).toEqual(before)
    })
    const writes = names.map((name) => database.transaction((session) => session.run(insert(name))))
    await Promise.all([...reads, ...writes])
    expect(await database.session.run('select count(*) as n from leases')).toEqual([{ n: 20 }])
  })
})

describe('a snapshot', () => {
  it('that could not begin answers nothing, although what was asked has followed it', async () => {
    const snapshot = openSnapshot({
      kind: 'postgres',
      // Outside a transaction, as if on a connection of its own.
      run: async <T extends object>() => [{ one: 1 } as T],
      begin: () => Promise.reject(lost()),
      end: async () => {},
    })
    await expect(snapshot.run('select 1 as one')).rejects.toEqual(lost())
    await expect(snapshot.head).rejects.toEqual(lost())
    await snapshot.close()
  })
})

describe('a turn on PGlite', () => {
  it('is taken from a caller that does not use it, and the next one continues', async () => {
    const database = await openPglite({ dataDir: undefined, template: await readyTemplate() }, 50)
    try {
      const lost = database.transaction(async (session) => {
        await session.run(insert('held'))
        // It waits for something that needs a turn itself: without a limit, for ever.
        await database.session.run('select 1')
        await session.run(insert('more'))
      })
      await expect(lost).rejects.toSatisfy(isTransient)
      expect(await database.session.run('select name from leases')).toEqual([])
    } finally {
      await database.close()
    }
  })
})
