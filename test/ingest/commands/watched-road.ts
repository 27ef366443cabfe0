/** A road that knows the largest parameter of its writing statements: it grows with the rows that a transaction has in memory. */
import type { Database } from '../../../src/store/database.ts'
import type { EmptyStore } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

export interface WatchedRoad {
  readonly road: Road
  /** Characters of the largest parameter while `work` runs. */
  largest(work: () => Promise<unknown>): Promise<number>
}

export async function createWatchedRoad(empty: EmptyStore): Promise<WatchedRoad> {
  let most = 0
  const database = await empty.open()
  const transaction: Database['transaction'] = (work) =>
    database.transaction((session) =>
      work({
        ...session,
        run(text, parameters = []) {
          for (const one of parameters) most = Math.max(most, String(one).length)
          return session.run(text, parameters)
        },
      }),
    )
  return {
    road: await createRoad({ ...database, transaction }),
    async largest(work) {
      most = 0
      await work()
      return most
    },
  }
}
