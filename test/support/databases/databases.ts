import { onTestFinished } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import type { Store } from './stores.ts'

/** An opened database of its own, closed and dropped when the test is over. */
export async function openFresh(store: Store): Promise<Database> {
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  const database = await empty.open()
  onTestFinished(() => database.close())
  return database
}
