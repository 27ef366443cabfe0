/** How far a duty has read the log. */
import { expect, it } from 'vitest'
import { noteDuty, readCursor } from '../../src/store/duties.ts'
import { stores } from '../support/databases/stores.ts'

it.each(stores)('a position moves forward only, whichever server notes it last, on $name', async (store) => {
  const empty = await store.create()
  const database = await empty.open()
  const note = (cursor: number | null) =>
    noteDuty(database.session, { name: 'sent', at: 0, seconds: 1, isFine: cursor !== null, cursor })
  const notes: (number | null)[] = []
  for (const cursor of [null, 7, 5, null, 9]) {
    await note(cursor)
    notes.push(await readCursor(database.session, 'sent'))
  }
  expect(notes).toEqual([null, 7, 7, 7, 9])
  await database.close()
  await empty.drop()
})
