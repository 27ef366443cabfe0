/** A road that knows the largest parameter and the largest result of its writing statements: they grow with the rows that a transaction has in memory. */
import type { WriterOptions } from '../../../src/ingest/writer-state.ts'
import type { Database } from '../../../src/store/database.ts'
import type { EmptyStore } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

export interface WatchedRoad {
  readonly road: Road
  /** Characters of the largest parameter while `work` runs. */
  largest(work: () => Promise<unknown>): Promise<number>
  /** The same, or of the largest result as JSON. */
  largestHeld(work: () => Promise<unknown>): Promise<number>
}

export async function createWatchedRoad(empty: EmptyStore, writer: Partial<WriterOptions> = {}): Promise<WatchedRoad> {
  let [most, mostRead] = [0, 0]
  const database = await empty.open()
  const transaction: Database['transaction'] = (work) =>
    database.transaction((session) =>
      work({
        ...session,
        async run<Row extends object>(text: string, parameters: readonly unknown[] = []) {
          for (const one of parameters) most = Math.max(most, String(one).length)
          const rows = await session.run<Row>(text, parameters)
          mostRead = Math.max(mostRead, JSON.stringify(rows).length)
          return rows
        },
      }),
    )
  return {
    road: await createRoad({ ...database, transaction }, { writer }),
    async largest(work) {
      most = 0
      await work()
      return most
    },
    async largestHeld(work) {
      ;[most, mostRead] = [0, 0]
      await work()
      return Math.max(most, mostRead)
    },
  }
}
