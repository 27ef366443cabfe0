/** The road without its shell: database, writer, feed. One a replica; several on one PostgreSQL. */
import type { Change } from '../../src/domain/change.ts'
import { createFeed, type Feed, type FeedOptions } from '../../src/feed/feed.ts'
import { createWriter, type Writer, type WriterOptions } from '../../src/ingest/writer.ts'
import { ensureEpoch, restartEpoch } from '../../src/store/connection/epoch.ts'
import { isTransient } from '../../src/store/connection/failure.ts'
import type { Database } from '../../src/store/database.ts'
import type { Store } from './stores.ts'

export interface Road {
  readonly database: Database
  readonly writer: Writer
  readonly feed: Feed
  /** Drains and closes all of it. */
  close(): Promise<void>
}

export async function createRoad(
  database: Database,
  options: { readonly writer?: Partial<WriterOptions>; readonly feed?: Partial<FeedOptions> } = {},
): Promise<Road> {
  const clock = options.writer?.clock ?? Date.now
  const feed = await createFeed({
    database,
    restored: (seen) => restartEpoch(database, clock(), seen),
    pollInterval: 100,
    ...options.feed,
  })
  const writer = createWriter({
    database,
    clock,
    committed: (since: number, changes: readonly Change[]) => feed.hub.publish(since, changes),
    isTransient,
    // What others wrote may have been told to somebody here, too.
    checkIdentity: (session, newestSeen) => ensureEpoch(session, clock(), Math.max(newestSeen, feed.hub.last)),
    ...options.writer,
  })
  return {
    database,
    writer,
    feed,
    async close() {
      feed.close()
      await writer.drain()
      await database.close()
    },
  }
}

/** On an empty database, which goes with it. */
export async function createEmptyRoad(store: Store): Promise<Road> {
  const empty = await store.create()
  const road = await createRoad(await empty.open())
  const close = async (): Promise<void> => {
    await road.close()
    await empty.drop()
  }
  return { ...road, close }
}
