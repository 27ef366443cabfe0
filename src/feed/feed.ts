/** The feed: everything that subscribers and sinks hear comes from here, and all of it from the log. */

import { DomainError } from '../domain/errors.ts'
import type { Revision } from '../domain/values.ts'
import { readHead, readRange } from '../store/connection/log-head.ts'
import type { Database, LogHead } from '../store/database.ts'
import { readLog } from '../store/read/changes.ts'
import { createBacklog } from './backlog.ts'
import { type ChangeStream, type ChangeStreamOptions, createChangeStream } from './change-stream.ts'
import type { LogRange } from './cursor.ts'
import { createHub, type Hub } from './hub.ts'
import { createRefresher } from './refresh.ts'
import { createWatchStream, type WatchOptions, type WatchStream } from './watch-stream.ts'

export interface Feed {
  readonly hub: Hub
  readonly subscribers: { readonly changes: number; readonly states: number }
  /** Every change after `after`, once, in order; null: from now on. Expired cursors are told, never skipped over. */
  changes(options: ChangeStreamOptions): Carried<ChangeStream>
  /** The present, then again whenever something in `topics` changed. Release each event when it has been read. */
  watch(options: WatchOptions): Carried<WatchStream>
  /** Ends every stream with UNAVAILABLE: it is not complete, its subscriber resumes elsewhere. */
  close(): void
}

/** One stream may tell a whole crowd: each of them counts. */
export type Carried<Stream> = Stream & { setSubscriberCount(subscribers: number): void }

export interface FeedOptions {
  readonly database: Database
  /** The database's head lies below a revision that was seen: begins a new epoch, if nobody has yet. */
  readonly restored: (seen: Revision) => Promise<void>
  /** Told when the log cannot be read; the next poll tries again. */
  readonly failed?: (error: unknown) => void
  /** Events a change stream may be behind before it ends with OVERFLOW; commits a state stream keeps the changes of. */
  readonly capacity?: number
  /** Milliseconds between polls: what a lost doorbell costs at most. */
  readonly pollInterval?: number
  /** Milliseconds between the bookmarks of a quiet filtered stream. */
  readonly bookmarkInterval?: number
}

export async function createFeed(options: FeedOptions): Promise<Feed> {
  const { database, failed = () => {}, capacity = 10_000, pollInterval = 1_000, bookmarkInterval = 20_000 } = options
  const log = {
    head: () => readHead(database.session),
    read: (after: Revision, limit: number, until?: Revision) => readLog(database.session, after, limit, until),
  }
  const hub = createHub(log, await log.head())
  const backlog = createBacklog(log, hub)
  const refresher = createRefresher(database, hub)
  const changeStreams = new Map<ChangeStream, number>()
  const watchStreams = new Map<WatchStream, number>()
  let isClosed = false
  const orUnavailable = (): void => {
    if (isClosed) throw new DomainError('UNAVAILABLE', 'the server is shutting down: subscribe again')
  }

  async function follow(): Promise<void> {
    const seen = hub.last
    const head = await log.head()
    if (isRestored(head, seen)) await options.restored(seen)
    await hub.follow(head.revision < seen ? await log.head() : head)
  }
  let isFailing = false
  let waiting: (() => void)[] = []
  const whenBack = (tell: () => void): void => void waiting.push(tell)
  let following: Promise<void> | null = null
  let isAskedAgain = false
  /** One at a time: a database that does not answer must not be asked ever more. */
  const catchUp = (): void => {
    if (following) {
      isAskedAgain = true
      return
    }
    following = follow().then(
      () => {
        isFailing = false
        const told = waiting
        waiting = []
        for (const tell of told) tell()
      },
      (error: unknown) => {
        // Once for each time that it begins to fail: the poll would say so every second.
        if (!isFailing) failed(error)
        isFailing = true
      },
    )
    void following.then(() => {
      following = null
      if (!isAskedAgain) return
      isAskedAgain = false
      catchUp()
    })
  }
  await database.listen((revision) => {
    // The poll notices what a revision alone does not say: another epoch.
    if (revision === null || (revision > hub.last && !hub.skip(revision))) catchUp()
  })
  const poll = setInterval(catchUp, pollInterval)
  const bookmarks = setInterval(() => {
    for (const stream of changeStreams.keys()) stream.bookmark()
  }, bookmarkInterval)

  async function rangeNow(): Promise<LogRange> {
    const seen = hub.last
    let log = await readRange(database.session)
    if (isRestored(log.head, seen)) {
      await follow()
      log = await readRange(database.session)
    }
    await hub.follow(log.head)
    return { ...log, head: log.head.revision }
  }
  let asking: Promise<unknown> = Promise.resolve()
  let asked: Promise<LogRange> | null = null
  /** Asked once at a time. All who ask meanwhile share the next answer, because it is taken after each of them asked. */
  const range = (): Promise<LogRange> => {
    asked ??= asking.then(() => {
      asked = null
      const now = rangeNow()
      asking = now.catch(() => undefined)
      return now
    })
    return asked
  }

  return {
    hub,
    subscribers: {
      get changes() {
        return sum(changeStreams.values())
      },
      get states() {
        return sum(watchStreams.values())
      },
    },
    changes(wanted) {
      const stream = createChangeStream({ hub, backlog, range, whenBack, capacity }, wanted)
      return tracked(changeStreams, stream, orUnavailable)
    },
    watch(wanted) {
      const stream = createWatchStream({ hub, refresher, whenBack, capacity: 1_000 }, wanted)
      return tracked(watchStreams, stream, orUnavailable)
    },
    close() {
      isClosed = true
      clearInterval(poll)
      clearInterval(bookmarks)
      for (const stream of [...changeStreams.keys(), ...watchStreams.keys()]) void stream.return?.()
    },
  }
}

/** Nobody takes revisions back but a restored copy: what was seen beyond its head never happened there. */
function isRestored(head: LogHead, seen: Revision): boolean {
  return head.revision < seen && head.epochBase <= seen
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}

/** Keeps an iterator among the others until it is over. `check` throws when all of them were ended. */
function tracked<T, S extends AsyncIterableIterator<T>>(
  streams: Map<S, number>,
  stream: S,
  check: () => void,
): Carried<S> {
  const { next, return: end } = stream
  streams.set(stream, 1)
  return Object.assign(stream, {
    async next() {
      check()
      const result = await next.call(stream)
      if (result.done) {
        streams.delete(stream)
        check()
      }
      return result
    },
    return() {
      streams.delete(stream)
      return end?.call(stream) ?? Promise.resolve({ done: true, value: undefined })
    },
    setSubscriberCount(subscribers: number) {
      if (streams.has(stream)) streams.set(stream, subscribers)
    },
  })
}
