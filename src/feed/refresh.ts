/**
 * Reading the present for state streams: all that are due share one snapshot (and, through it, its loaders), so the cost follows
 * the commits and not the watchers. The hub is brought up to the snapshot's revision first, so that what a stream is told
 * (`changes`) and what it reads (the object) end at the same revision.
 */
import type { Revision } from '../domain/deployment.ts'
import type { Database, LogHead, Snapshot } from '../store/database.ts'
import type { Hub } from './hub.ts'

export interface SharedSnapshot {
  readonly snapshot: Snapshot
  readonly revision: Revision
  /** The last one to release closes it. Releasing twice does nothing. */
  release(): void
}

export interface Refresher {
  join(): Promise<SharedSnapshot>
}

export function createRefresher(database: Database, hub: Hub, concurrency = 2): Refresher {
  let waiting: { resolve: (shared: SharedSnapshot) => void; reject: (error: unknown) => void }[] = []
  let open = 0
  let isScheduled = false

  async function cycle(): Promise<void> {
    isScheduled = false
    if (open >= concurrency || waiting.length === 0) return
    open += 1
    const joined = waiting
    waiting = []
    try {
      const { snapshot, revision } = await openAtHub()
      let readers = joined.length
      for (const { resolve } of joined)
        resolve({ snapshot, revision, release: once(() => --readers === 0 && finish(snapshot)) })
    } catch (error) {
      open -= 1
      for (const { reject } of joined) reject(error)
      schedule()
    }
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

  function finish(snapshot: Snapshot): void {
    open -= 1
    snapshot.close().catch(() => undefined)
    schedule()
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => void cycle())
  }

  return {
    join() {
      const shared = new Promise<SharedSnapshot>((resolve, reject) => waiting.push({ resolve, reject }))
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

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
