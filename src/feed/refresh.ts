/**
 * Reads the present for state streams. Streams that are due share a snapshot and its loaders, so the cost depends on the
 * commits and not on the number of subscribers. A snapshot is used for a short time only, by callers in turns, and is given
 * back early when a report waits for its connection: thousands of streams that read different things delay neither writes nor
 * other callers. The hub reaches the snapshot's revision first, so that the changes of an event and the object that is read end
 * at the same revision.
 */
import type { Revision } from '../domain/values.ts'
import { createFairQueue, type FairQueue } from '../platform/limits/fair-queue.ts'
import { once } from '../platform/limits/once.ts'
import type { Database, LogHead, Snapshot } from '../store/database.ts'
import type { Hub } from './hub.ts'

interface SharedSnapshot {
  readonly snapshot: Snapshot
  readonly revision: Revision
  /** The last reader's release closes the snapshot. A second release does nothing. */
  release(): void
}

export interface Refresher {
  /** `whose`: the caller that the read is charged to. `subscribers`: their number, because each may read something else. */
  join(whose: string, subscribers: number): Promise<SharedSnapshot>
}

export interface RefreshOptions {
  /** The number of snapshots that are open at once. On one connection the second would only wait for the first. */
  readonly concurrency?: number
  /** Milliseconds after which no further reader gets a snapshot. */
  readonly hold?: number
  readonly clock?: () => number
}

interface Waiting {
  readonly subscribers: number
  readonly resolve: (shared: SharedSnapshot) => void
  readonly reject: (error: unknown) => void
}

/** The embedded database does not write while a snapshot is open. A longer one is shared by more readers. */
const holds: Readonly<Record<Database['kind'], number>> = { pglite: 100, postgres: 500 }

/** Portions of a snapshot's time. A report waits for one of them at most. */
const portionsOfHold = 4

/** Subscribers that get the first snapshot, before it is known how long they read. */
const firstPortion = 32
const largestPortion = 4_096

export function createRefresher(
  database: Database,
  hub: Hub,
  {
    concurrency = database.kind === 'pglite' ? 1 : 2,
    hold = holds[database.kind],
    clock = performance.now.bind(performance),
  }: RefreshOptions = {},
): Refresher {
  const share = hold / portionsOfHold
  let waiting = createFairQueue<Waiting>()
  let open = 0
  let isScheduled = false
  let portion = firstPortion

  async function cycle(): Promise<void> {
    isScheduled = false
    if (open >= concurrency || waiting.size() === 0) return
    open += 1
    // Later callers may know of a revision that this snapshot does not contain.
    const joined = waiting
    waiting = createFairQueue()
    try {
      const shared = await openAtHub()
      await readFrom(shared, joined)
      await shared.snapshot.close().catch(() => undefined)
    } catch (error) {
      for (const { item } of all(joined)) item.reject(error)
    }
    open -= 1
    for (const { whose, item } of all(waiting)) joined.add(whose, item)
    waiting = joined
    if (waiting.size() > 0) schedule()
  }

  /**
   * Serves streams in portions until the time is over, or until another caller waits for the connection. Each portion has a share of each
   * caller. The remaining streams read from the next snapshot, after the queued reports are written. The duration of a portion determines the
   * size of the next one, so that expensive streams do not exceed the time. A single stream may take as long as an operation.
   */
  async function readFrom(shared: Pick<SharedSnapshot, 'snapshot' | 'revision'>, joined: FairQueue<Waiting>) {
    const start = clock()
    do {
      const begin = clock()
      const size = await portionOf(joined, shared)
      const taken = clock() - begin
      if (taken > 2 * share) portion = Math.max(1, Math.floor((size * share) / taken))
      else if (taken < share / 2 && size >= portion) portion = Math.min(2 * portion, largestPortion)
    } while (joined.size() > 0 && clock() - start < hold && !shared.snapshot.isWanted())
  }

  /** Resolves when all have read, with the number of subscribers. */
  function portionOf(joined: FairQueue<Waiting>, shared: Pick<SharedSnapshot, 'snapshot' | 'revision'>) {
    return new Promise<number>((released) => {
      let readers = 0
      let size = 0
      const release = (): void => {
        readers -= 1
        if (readers === 0) released(size)
      }
      while (size < portion) {
        const next = joined.take()
        if (!next) break
        readers += 1
        size += next.item.subscribers
        // A reader continues after this loop.
        next.item.resolve({ ...shared, release: once(release) })
      }
    })
  }

  /** Opens a snapshot whose revision the hub has reached. */
  async function openAtHub(): Promise<Pick<SharedSnapshot, 'snapshot' | 'revision'>> {
    for (;;) {
      const snapshot = await database.snapshot(undefined, 'present')
      const { revision } = await headOf(snapshot)
      if (hub.last >= revision) return { snapshot, revision }
      // The hub reads the log on another connection. The embedded database has only one, and the snapshot holds it.
      const isOnlyConnection = database.kind === 'pglite'
      if (isOnlyConnection) await snapshot.close()
      try {
        await hub.reach(revision)
        if (!isOnlyConnection) return { snapshot, revision }
      } catch (error) {
        await snapshot.close()
        throw error
      }
    }
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => void cycle())
  }

  return {
    join(whose, subscribers) {
      const shared = new Promise<SharedSnapshot>((resolve, reject) =>
        waiting.add(whose, { subscribers, resolve, reject }),
      )
      schedule()
      return shared
    },
  }
}

async function headOf(snapshot: Snapshot): Promise<LogHead> {
  try {
    return await snapshot.head
  } catch (error) {
    await snapshot.close()
    throw error
  }
}

/** Empties the queue. */
function* all<T>(queue: FairQueue<T>): Generator<{ readonly whose: string; readonly item: T }> {
  for (let next = queue.take(); next; next = queue.take()) yield next
}
