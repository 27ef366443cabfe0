/**
 * Reading the present for state streams: those that are due share a snapshot (and, through it, its loaders), so the cost follows
 * the commits and not the watchers. A snapshot is read from for a short time only, by callers in turns: thousands of streams that each read something
 * else delay neither what is written nor others' streams. The hub is brought up to the snapshot's revision first, so that what a stream is told
 * (`changes`) and what it reads (the object) end at the same revision.
 */
import type { Revision } from '../domain/values.ts'
import { createFairQueue, type FairQueue } from '../limits/fair-queue.ts'
import type { Database, LogHead, Snapshot } from '../store/database.ts'
import type { Hub } from './hub.ts'

export interface SharedSnapshot {
  readonly snapshot: Snapshot
  readonly revision: Revision
  /** The last one to release closes it. Releasing twice does nothing. */
  release(): void
}

export interface Refresher {
  /** For a stream of this caller. */
  join(whose: string): Promise<SharedSnapshot>
}

export interface RefreshOptions {
  /** Snapshots at once. */
  readonly concurrency?: number
  /** Milliseconds after which nothing more is read from a snapshot. */
  readonly hold?: number
  readonly clock?: () => number
}

interface Waiting {
  readonly resolve: (shared: SharedSnapshot) => void
  readonly reject: (error: unknown) => void
}

/** The embedded database writes nothing while it is read from. The longer one lasts, the more its readers share. */
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
    // Who comes later may know of something that this snapshot does not show.
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
   * In portions, until the time is over, with a share of each caller in each. The rest reads from the next snapshot, after the reports that wait to
   * be written. The size of a portion follows from how long the last one took, so that a portion of expensive streams does not exceed the time;
   * a single stream may take as long as an operation.
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

  /** A snapshot that the hub is not behind of. */
  async function openAtHub(): Promise<Pick<SharedSnapshot, 'snapshot' | 'revision'>> {
    for (;;) {
      const snapshot = await database.snapshot()
      const { revision } = await headOf(snapshot)
      if (hub.last >= revision) return { snapshot, revision }
      // The hub reads the log on a connection of its own. Embedded, there is only the one that the snapshot holds.
      const isAlone = database.kind === 'pglite'
      if (isAlone) await snapshot.close()
      try {
        await hub.reach(revision)
        if (!isAlone) return { snapshot, revision }
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

/** Takes them. */
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
