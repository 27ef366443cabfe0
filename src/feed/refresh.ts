/**
 * Reads the present for state streams. Streams that are due share a snapshot and its loaders, so the cost depends on the
 * commits and not on the number of subscribers. A snapshot is used for a short time only, by callers in turns: thousands of
 * streams that read different things delay neither writes nor other callers. The hub reaches the snapshot's revision first,
 * so that the changes of an event and the object that is read end at the same revision.
 */
import type { Revision } from '../domain/values.ts'
import { createFairQueue, type FairQueue } from '../limits/fair-queue.ts'
import type { Database, LogHead, Snapshot } from '../store/database.ts'
import type { Hub } from './hub.ts'

export interface SharedSnapshot {
  readonly snapshot: Snapshot
  readonly revision: Revision
  /** The last reader's release closes the snapshot. A second release does nothing. */
  release(): void
}

export interface Refresher {
  /** `whose`: the caller that the read is charged to. */
  join(whose: string): Promise<SharedSnapshot>
}

export interface RefreshOptions {
  /** The number of snapshots that are open at once. */
  readonly concurrency?: number
  /** Milliseconds after which no further reader gets a snapshot. */
  readonly hold?: number
  readonly clock?: () => number
}

interface Waiting {
  readonly resolve: (shared: SharedSnapshot) => void
  readonly reject: (error: unknown) => void
}

/** The embedded database does not write while a snapshot is open. A longer one is shared by more readers. */
const holds: Readonly<Record<Database['kind'], number>> = { pglite: 100, postgres: 500 }

/** Streams that get the first snapshot, before it is known how long they read. */
const firstPortion = 32
const largestPortion = 4_096

export function createRefresher(
  database: Database,
  hub: Hub,
  { concurrency = 2, hold = holds[database.kind], clock = performance.now.bind(performance) }: RefreshOptions = {},
): Refresher {
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
   * Serves streams in portions until the time is over. Each portion has a share of each caller. The remaining streams read from the next
   * snapshot, after the queued reports are written. The duration of a portion determines the size of the next one, so that expensive streams
   * do not exceed the time. A single stream may take as long as an operation.
   */
  async function readFrom(shared: Pick<SharedSnapshot, 'snapshot' | 'revision'>, joined: FairQueue<Waiting>) {
    const start = clock()
    while (joined.size() > 0) {
      const begin = clock()
      if (begin - start >= hold) return
      const size = Math.min(portion, joined.size())
      await portionOf(joined, size, shared)
      const taken = clock() - begin
      if (taken > hold) portion = Math.max(1, Math.floor((size * hold) / taken))
      else if (taken < hold / 4 && size === portion) portion = Math.min(2 * portion, largestPortion)
    }
  }

  function portionOf(joined: FairQueue<Waiting>, size: number, shared: Pick<SharedSnapshot, 'snapshot' | 'revision'>) {
    return new Promise<void>((released) => {
      let readers = size
      for (let left = readers; left > 0; left -= 1)
        joined.take()?.item.resolve({ ...shared, release: once(() => --readers === 0 && released()) })
    })
  }

  /** Opens a snapshot whose revision the hub has reached. */
  async function openAtHub(): Promise<Pick<SharedSnapshot, 'snapshot' | 'revision'>> {
    for (;;) {
      const snapshot = await database.snapshot()
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
    join(whose) {
      const shared = new Promise<SharedSnapshot>((resolve, reject) => waiting.add(whose, { resolve, reject }))
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

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
