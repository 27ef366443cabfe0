/**
 * One subscriber of a state (a deployment, counts, a rollout): the present first, then the present again whenever something
 * that concerns it changed. It never reads ahead: what changes while its consumer is busy is merged, and counted. Once begun, it
 * outlives the database's absence.
 */
import type { Change } from '../domain/change.ts'
import type { Revision } from '../domain/values.ts'
import { isTransient } from '../store/connection/failure.ts'
import type { Snapshot } from '../store/database.ts'
import type { Hub, Topic } from './hub.ts'
import { createIterator, type WakingIterator } from './iterator.ts'
import type { Refresher, SharedSnapshot } from './refresh.ts'

export interface WatchEvent {
  readonly cursor: Revision
  /** Further commits merged into this one. */
  readonly coalesced: number
  /** What changed since the event before, ascending. */
  readonly changes: readonly Change[]
  /** As of `cursor`, and shared: never close it, release the event. */
  readonly snapshot: Snapshot
  release(): void
}

export interface WatchOptions {
  readonly topics: readonly Topic[]
  readonly matches?: (change: Change) => boolean
  /** Goes on from where another one with the same topics stood. Absent: begins with the present. */
  readonly from?: WatchPosition | undefined
  /** Whose share of reading it takes. */
  readonly whose?: string | undefined
  /** Called when there is nothing to tell for now. */
  readonly idle?: (() => void) | undefined
}

export interface WatchPosition {
  readonly cursor: Revision
  readonly commits: readonly (readonly Change[])[]
  readonly merged: number
}

export interface WatchStream extends WakingIterator<WatchEvent> {
  /** Everything has been told, and somebody waits for more. */
  isIdle(): boolean
  /** Where it stood before the event that it gave last, with all that followed. */
  before(): WatchPosition
}

export interface WatchStreamSource {
  readonly hub: Hub
  readonly refresher: Refresher
  /** Calls back once, when the log can be read again. */
  readonly whenBack: (tell: () => void) => void
  readonly capacity: number
}

export function createWatchStream(
  source: WatchStreamSource,
  { topics, matches = () => true, from, whose = '', idle }: WatchOptions,
): WatchStream {
  let commits: (readonly Change[])[] = [...(from?.commits ?? [])]
  let isDue = true
  let cursor = from?.cursor ?? 0
  let merged = from?.merged ?? 0
  /** Of the last event. */
  let given: WatchPosition = nothing

  const detach = source.hub.subscribe({
    topics,
    tell(changes) {
      const matching = changes.filter(matches)
      if (matching.length === 0) return
      commits.push(matching)
      // A consumer this far behind gets the newest of them; how many commits it was is still counted.
      if (commits.length > source.capacity) {
        commits.shift()
        merged += 1
      }
      isDue = true
      iterator.wake()
    },
    interrupted() {
      isDue = true
      iterator.wake()
    },
  })

  const iterator = createIterator<WatchEvent>({
    async pull(closed) {
      given = nothing
      if (!isDue) return 'wait'
      const shared = await present()
      if (shared === null) return 'wait'
      if (closed()) {
        shared.release()
        return 'end'
      }
      const { snapshot, revision, release } = shared
      const isFirst = cursor === 0
      const told = within(commits, cursor, revision)
      commits = within(commits, revision, Number.POSITIVE_INFINITY)
      isDue = commits.length > 0
      given = { cursor, commits: told, merged }
      cursor = revision
      const coalesced = Math.max(merged + told.length - 1, 0)
      merged = 0
      if (isFirst) return { cursor, coalesced: 0, changes: [], snapshot, release }
      return { cursor, coalesced, changes: told.flat(), snapshot, release }
    },
    close: detach,
    waits: idle,
  })

  async function present(): Promise<SharedSnapshot | null> {
    try {
      return await source.refresher.join(whose)
    } catch (error) {
      const hasBegun = cursor > 0
      if (!hasBegun || !isTransient(error)) throw error
      source.whenBack(iterator.wake)
      return null
    }
  }

  return Object.assign(iterator, {
    isIdle: () => !isDue && iterator.isWaiting(),
    before: () => ({
      cursor: given.cursor,
      commits: [...given.commits, ...commits],
      merged: given.merged + merged,
    }),
  })
}

const nothing: WatchPosition = { cursor: 0, commits: [], merged: 0 }

/** Changes that were read from the log came together, whatever commits they are of: what is shown may end among them. */
function within(commits: readonly (readonly Change[])[], after: Revision, upTo: Revision): (readonly Change[])[] {
  const isWithin = ({ revision }: Change): boolean => revision > after && revision <= upTo
  return commits
    .map((commit) => (commit.every(isWithin) ? commit : commit.filter(isWithin)))
    .filter(({ length }) => length > 0)
}
