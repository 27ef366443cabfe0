/** The feed: everything that subscribers and sinks are notified of comes from here, and all of it from the log. */
import { DomainError } from '../domain/errors.ts'
import type { Revision } from '../domain/values.ts'
import { coalesce } from '../store/connection/coalesce.ts'
import { readHead, readRange } from '../store/connection/log-head.ts'
import type { Database, LogHead } from '../store/database.ts'
import { readLog } from '../store/read/changes/changes.ts'
import { createBacklog } from './backlog.ts'
import { type ChangeStream, type ChangeStreamOptions, createChangeStream } from './change-stream.ts'
import type { LogRange } from './cursor.ts'
import { createHub, type Hub } from './hub.ts'
import { createRefresher, type RefreshOptions } from './refresh.ts'
import { createWatchStream, type WatchOptions, type WatchStream } from './watch-stream.ts'

export interface Feed {
  readonly hub: Hub
  readonly subscribers: { readonly changes: number; readonly states: number }
  /** Every change after `after`, once, in order. Null: from now on. An expired cursor gives a reset, never a hole. */
  changes(options: ChangeStreamOptions): Shared<ChangeStream>
  /** The present, then again whenever something in `topics` changed. Release each event after it was read. */
  watch(options: WatchOptions): Shared<WatchStream>
  /** Ends every stream with UNAVAILABLE: it is not complete, and its subscriber resumes elsewhere. */
  close(): void
}

/** One stream may serve many subscribers. Each of them counts. */
export type Shared<Stream> = Stream & { setSubscriberCount(subscribers: number): void }

export interface FeedOptions {
  readonly database: Database
  /** Called when the database's head is below a revision that was seen. Begins a new epoch, unless there is one. */
  readonly restored: (seen: Revision) => Promise<unknown>
  /** Called when the log cannot be read, once for each outage. The next poll tries again. */
  readonly failed?: (error: unknown) => void
  /** Events that a stream of changes may be behind before it ends with OVERFLOW. */
  readonly capacity?: number
  /** Commits whose changes a state stream keeps. */
  readonly stateCapacity?: number
  /** Milliseconds between polls: the longest delay that a lost doorbell causes. */
  readonly pollInterval?: number
  /** Milliseconds between the bookmarks of an idle stream with a filter. */
  readonly bookmarkInterval?: number
  /** How state streams share snapshots. */
  readonly refresh?: RefreshOptions
}

export async function createFeed(options: FeedOptions): Promise<Feed> {
  const { database, failed = () => {}, capacity = 10_000, stateCapacity = 1_000 } = options
  const { pollInterval = 1_000, bookmarkInterval = 20_000 } = options
  const log = {
    head: () => readHead(database.session),
    read: (after: Revision, limit: number, until?: Revision) => readLog(database.session, after, limit, until),
  }
  const hub = createHub(log, await log.head())
  const backlog = createBacklog(log, hub)
  const refresher = createRefresher(database, hub, options.refresh)
  const changeStreams = createOpenStreams<ChangeStream>()
  const watchStreams = createOpenStreams<WatchStream>()

  async function follow(): Promise<void> {
    const seen = hub.last
    const head = await log.head()
    if (isRestored(head, seen)) await options.restored(seen)
    await hub.follow(head.revision < seen ? await log.head() : head)
  }

  let isFailing = false
  const waiting: (() => void)[] = []
  const whenReadable = (callback: () => void): void => void waiting.push(callback)
  /** One poll at a time: polls must not pile up while the database does not answer. */
  const synchronize = coalesce(async () => {
    try {
      await follow()
      isFailing = false
      for (const callback of waiting.splice(0)) callback()
    } catch (error) {
      if (!isFailing) failed(error)
      isFailing = true
    }
  })
  await database.listen((revision) => {
    // The next poll notices another epoch, which a revision alone does not show.
    if (revision === null || (revision > hub.last && !hub.advance(revision))) void synchronize()
  })
  const poll = setInterval(() => void synchronize(), pollInterval)
  const bookmarks = setInterval(() => {
    for (const stream of changeStreams.all()) stream.bookmark()
  }, bookmarkInterval)

  const range = coalesce(async (): Promise<LogRange> => {
    const seen = hub.last
    let found = await readRange(database.session)
    if (isRestored(found.head, seen)) {
      await follow()
      found = await readRange(database.session)
    }
    await hub.follow(found.head)
    return { ...found, head: found.head.revision }
  })

  return {
    hub,
    subscribers: {
      get changes() {
        return changeStreams.subscribers()
      },
      get states() {
        return watchStreams.subscribers()
      },
    },
    changes: (wanted) =>
      changeStreams.open((closed) =>
        createChangeStream({ hub, backlog, range, whenReadable, capacity, closed }, wanted),
      ),
    watch: (wanted) =>
      watchStreams.open((closed, subscribers) =>
        createWatchStream({ hub, refresher, whenReadable, capacity: stateCapacity, subscribers, closed }, wanted),
      ),
    close() {
      clearInterval(poll)
      clearInterval(bookmarks)
      changeStreams.close()
      watchStreams.close()
    },
  }
}

/** Revisions decrease only if the database was restored: the database does not have the later revisions that were seen. */
function isRestored(head: LogHead, seen: Revision): boolean {
  return head.revision < seen && head.epochBase <= seen
}

/** The streams that are open. After `close`, later streams fail too. */
function createOpenStreams<S extends { close(failure?: unknown): void }>() {
  const counts = new Map<S, number>()
  let isClosed = false
  const unavailable = (): DomainError => new DomainError('UNAVAILABLE', 'the server is shutting down: subscribe again')

  return {
    all: () => counts.keys(),
    subscribers: () => counts.values().reduce((sum, count) => sum + count, 0),
    open(create: (closed: () => void, subscribers: () => number) => S): Shared<S> {
      const stream = create(
        () => void counts.delete(stream),
        () => counts.get(stream) ?? 1,
      )
      counts.set(stream, 1)
      if (isClosed) stream.close(unavailable())
      return Object.assign(stream, {
        setSubscriberCount(subscribers: number) {
          if (counts.has(stream)) counts.set(stream, subscribers)
        },
      })
    },
    close() {
      isClosed = true
      for (const stream of [...counts.keys()]) stream.close(unavailable())
    },
  }
}
