/** Keeps the index that filters of deployments search, a few seconds behind the writer (store/write/derived/search-entries.ts). */
import type { Database } from '../store/database.ts'
import { indexChanged, indexed, readIndexed } from '../store/write/derived/search-entries.ts'
import type { Duty } from './duties.ts'

/** Deployments of one statement. The embedded database answers nothing else meanwhile. */
const most = { postgres: 2_000, pglite: 200 }

export function createSearchIndex({ session, kind }: Database): Duty {
  const limit = most[kind]
  return {
    name: indexed,
    interval: 0,
    budget: 4_000,
    async run({ isOver }) {
      let cursor = await readIndexed(session)
      for (;;) {
        const read = await indexChanged(session, cursor, limit)
        if (read === null || read.deployments < limit) return true
        if (isOver()) return false
        cursor = read.cursor
      }
    },
  }
}
