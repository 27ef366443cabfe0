/** Keeps what lists of deployments are read from beside the deployments, a few seconds behind the writer (store/write/derived). */
import type { Database } from '../../store/database.ts'
import { followOnce, readPosition } from '../../store/write/derived/changed-deployments.ts'
import { nameStatements, namesDuty } from '../../store/write/derived/deployment-names.ts'
import { searchDuty, searchStatements } from '../../store/write/derived/search-entries.ts'
import type { Duty } from './duties.ts'

/**
 * Deployments of the first statement of a round. Each further statement doubles them. If a busy machine cancels a long statement, the next round begins
 * with a short one. With a constant number, the index could stop for as long as the machine is busy.
 */
const fewest = 50
/** Deployments of one statement at most: reports wait for it, in the embedded database and on few processors. */
const mostSearched = { postgres: 250, pglite: 100 }
const mostNamed = { postgres: 2_000, pglite: 1_000 }

export function createSearchIndex(database: Database): Duty {
  return follow(database, searchDuty, searchStatements, mostSearched[database.kind])
}

export function createNameIndex(database: Database): Duty {
  return follow(database, namesDuty, nameStatements, mostNamed[database.kind])
}

function follow({ session }: Database, name: string, statements: typeof searchStatements, most: number): Duty {
  return {
    name,
    interval: 0,
    budget: 4_000,
    async run({ isOver }) {
      let position = await readPosition(session, name)
      for (let limit = fewest; ; limit = Math.min(2 * limit, most)) {
        const read = await followOnce(session, statements, position, limit)
        if (!read?.hasMore) return true
        if (isOver()) return false
        position = { ...position, cursor: read.cursor }
      }
    },
  }
}
