/** The road without its shell: database, writer, feed. One a replica; several on one PostgreSQL. */
import type { Change } from '../../../src/domain/change.ts'
import type { ChangeStreamOptions } from '../../../src/feed/change-stream.ts'
import type { FeedEvent } from '../../../src/feed/event-queue.ts'
import { createFeed, type Feed, type FeedOptions } from '../../../src/feed/feed.ts'
import type { WatchEvent, WatchOptions } from '../../../src/feed/watch-stream.ts'
import { createWriter, type Writer } from '../../../src/ingest/writer.ts'
import type { WriterOptions } from '../../../src/ingest/writer-state.ts'
import { ensureEpoch, restartEpoch } from '../../../src/store/connection/epoch.ts'
import { isTransient } from '../../../src/store/connection/failure.ts'
import type { Database } from '../../../src/store/database.ts'
import { iterate } from '../clients/iterate.ts'
import type { Store } from '../databases/stores.ts'

export interface Road {
  readonly database: Database
  readonly writer: Writer
  readonly feed: Feed
  /** The feed's streams as async iterators. */
  changes(options: ChangeStreamOptions): ReturnType<typeof iterate<FeedEvent>>
  watch(options: WatchOptions): ReturnType<typeof iterate<WatchEvent>>
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
    // What another server wrote may have been published here too.
    checkIdentity: (session, newestSeen) => ensureEpoch(session, clock(), Math.max(newestSeen, feed.hub.last)),
    ...options.writer,
  })
  return {
    database,
    writer,
    feed,
    changes: (wanted) => iterate(feed.changes(wanted)),
    watch: (wanted) => iterate(feed.watch(wanted)),
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
