/** A bucket that answers with another progress than was stored: nothing counts as copied because of it, and it costs no memory. */
import { expect, it } from 'vitest'
import { createArchive } from '../../src/api/export/archive/archive.ts'
import type { Storage } from '../../src/api/export/archive/directory.ts'
import { databaseId } from '../../src/store/read/export/archive-log.ts'
import { closeAfterEach, open } from '../feed/harness.ts'
import { stores } from '../support/databases/stores.ts'

closeAfterEach()
const [store] = stores

it('takes only a progress of its own form, and asks for few bytes', async () => {
  const [{ database }] = await open(store ?? expect.unreachable())
  const id = await databaseId(database.session)
  const asked: number[] = []
  const copied = (text: string): Promise<number> => {
    const storage: Storage = {
      put: async () => undefined,
      async get(_, most) {
        asked.push(most)
        return Buffer.from(text)
      },
    }
    return createArchive(storage, database).copied('change_log')
  }
  const own = { database: id, copied: 7, unit: null }
  expect(await copied(JSON.stringify(own))).toBe(7)
  for (const odd of [
    { copied: '7' },
    { copied: -1 },
    { copied: 1e300 },
    { unit: 7 },
    { unit: { upTo: 'x' } },
    { database: 7 },
  ])
    expect(await copied(JSON.stringify({ ...own, ...odd }))).toBe(0)
  for (const odd of ['null', '[]', '7', '{}']) expect(await copied(odd)).toBe(0)
  await expect(copied('<html>')).rejects.toThrow('not JSON')
  await expect(copied(`[${'{},'.repeat(1_000)}{}]`)).rejects.toThrow('more than 100 values')
  expect(Math.max(...asked)).toBeLessThan(100_000)
})
