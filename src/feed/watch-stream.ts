/**
 * One subscriber of a state (a deployment, counts, a rollout): the present first, then the present again after each
 * relevant change. It never reads ahead: what changes while its consumer is busy is merged and counted. A stream that has
 * begun outlives an outage of the database.
 */
import type { Change } from '../domain/change.ts'
import type { Revision } from '../domain/values.ts'
import { isTransient } from '../store/connection/failure.ts'
import type { Snapshot } from '../store/database.ts'
import type { Hub, Topic } from './hub.ts'
import type { Refresher } from './refresh.ts'
import type { Stream } from './stream.ts'

export interface WatchEvent {
  readonly cursor: Revision
  /** Further commits merged into this one. */
  readonly coalesced: number
  /** What changed since the event before, ascending. */
  readonly changes: readonly Change[]
  /** False: `changes` may lack some, because there were too many commits, or because the log does not continue. */
  readonly isComplete: boolean
  /** As of `cursor`, and shared: never close it, release the event. */
  readonly snapshot: Snapshot
  release(): void
}

export interface WatchOptions {
  readonly topics: readonly Topic[]
  readonly matches?: (change: Change) => boolean
  /** Continues where another stream with the same topics was. Absent: begins with the present. */
  readonly from?: WatchPosition | undefined
  /** The stream reads much, such as all deployments: it spends at most a fifth of its time on it. Changes that come meanwhile are merged. */
  readonly isPaced?: boolean
  /** The principal that reads are charged to. */
  readonly whose?: string | undefined
}

interface WatchPosition {
  readonly cursor: Revision
  readonly commits: readonly (readonly Change[])[]
  readonly merged: number
  readonly isComplete: boolean
}

export interface WatchStream extends Stream<WatchEvent> {
  /** The position before the event that `next` returned last. */
  before(): WatchPosition
}

interface WatchStreamSource {
  readonly hub: Hub
  readonly refresher: Refresher
  /** Calls back once, when the log can be read again. */
  readonly whenReadable: (callback: () => void) => void
  /** Commits whose changes a stream keeps. */
  readonly capacity: number
  /** The number of subscribers of the stream. */
  readonly subscribers: () => number
  /** Called once, when the stream is closed. */
  readonly closed?: (() => void) | undefined
}

/** Milliseconds of reading that need no pause, and the longest pause. */
const briefly = 20
const longestPause = 5_000

const nothing: WatchPosition = { cursor: 0, commits: [], merged: 0, isComplete: true }

export function createWatchStream(
  source: WatchStreamSource,
  { topics, matches = () => true, from = nothing, isPaced = false, whose = '' }: WatchOptions,
): WatchStream {
  let { cursor, merged, isComplete } = from
  let commits: readonly (readonly Change[])[] = from.commits
  let isDue = true
  let isWaiting = false
  let ended: { failure: unknown } | null = null
  /** The position before the last event, without what followed. */
  let last = nothing
  let wakeConsumer = (): void => undefined
  let pausedUntil = 0
  let pause: NodeJS.Timeout | undefined

  const detach = source.hub.subscribe({
    topics,
    changed(changes) {
      const matching = changes.filter(matches)
      if (matching.length === 0) return
      commits = [...commits, ...commitsOf(matching)]
      // A consumer this far behind gets the newest of them. The number of commits is still right.
      const surplus = Math.max(commits.length - source.capacity, 0)
      commits = commits.slice(surplus)
      merged += surplus
      if (surplus > 0) isComplete = false
      isDue = true
      wake()
    },
    interrupted() {
      isComplete = false
      isDue = true
      wake()
    },
    dropped(until) {
      last = without(until, last)
      ;({ commits, merged, isComplete } = without(until, { cursor, commits, merged, isComplete }))
    },
  })

  function wake(): void {
    if (!isWaiting || isPausing()) return
    isWaiting = false
    wakeConsumer()
  }

  /** The end of the pause wakes the consumer. */
  function isPausing(): boolean {
    const left = ended ? 0 : pausedUntil - performance.now()
    if (left <= 0) return false
    pause ??= setTimeout(() => {
      pause = undefined
      if (isDue) wake()
    }, left)
    return true
  }

  function pauseAfter(began: number): void {
    const taken = performance.now() - began
    if (taken > briefly) pausedUntil = performance.now() + Math.min(4 * taken, longestPause)
  }

  function rest(): 'idle' {
    isWaiting = true
    return 'idle'
  }

  async function read(): Promise<WatchEvent | 'idle' | 'ended'> {
    try {
      const { snapshot, revision, release } = await source.refresher.join(whose, source.subscribers())
      if (ended) {
        release()
        return end()
      }
      const event = { ...take(revision), snapshot, release }
      if (!isPaced) return event
      const began = performance.now()
      const released = (): void => {
        release()
        pauseAfter(began)
      }
      return { ...event, release: released }
    } catch (error) {
      if (ended) return end()
      const hasBegun = cursor > 0
      if (!hasBegun || !isTransient(error)) {
        close()
        throw error
      }
      source.whenReadable(wake)
      return rest()
    }
  }

  /** The update for a snapshot of this revision. */
  function take(revision: Revision): Omit<WatchEvent, 'snapshot' | 'release'> {
    const shown = within(commits, cursor, revision)
    last = { cursor, commits: shown, merged, isComplete }
    commits = within(commits, revision, Number.POSITIVE_INFINITY)
    isDue = commits.length > 0
    const coalesced = Math.max(merged + shown.length - 1, 0)
    cursor = revision
    merged = 0
    isComplete = true
    return last.cursor === 0
      ? { cursor, coalesced: 0, changes: [], isComplete: true }
      : { cursor, coalesced, changes: shown.flat(), isComplete: last.isComplete }
  }

  /** Throws the failure that the stream was closed with, once. */
  function end(): 'ended' {
    const failure = ended?.failure
    ended = { failure: undefined }
    if (failure !== undefined) throw failure
    return 'ended'
  }

  function close(failure?: unknown): void {
    if (ended) return
    ended = { failure }
    clearTimeout(pause)
    detach()
    source.closed?.()
    wake()
  }

  return {
    next() {
      isWaiting = false
      last = nothing
      if (ended) return end()
      return isDue && !isPausing() ? read() : rest()
    },
    onWake(notify) {
      wakeConsumer = notify
    },
    isIdle: () => isWaiting && !isDue,
    close,
    before: () => ({
      cursor: last.cursor,
      commits: [...last.commits, ...commits],
      merged: last.merged + merged,
      isComplete: last.isComplete && isComplete,
    }),
  }
}

/** A hub that reads the log gets several commits at once. Each commit has one time, so only commits of the same millisecond count as one. */
function commitsOf(changes: readonly Change[]): Iterable<readonly Change[]> {
  return changes[0]?.at === changes.at(-1)?.at ? [changes] : Map.groupBy(changes, ({ at }) => at).values()
}

/** Commits of the same millisecond count as one, so a snapshot's revision may be in the middle of one. */
function within(commits: readonly (readonly Change[])[], after: Revision, upTo: Revision): (readonly Change[])[] {
  const isWithin = ({ revision }: Change): boolean => revision > after && revision <= upTo
  return commits
    .map((commit) => (commit.every(isWithin) ? commit : commit.filter(isWithin)))
    .filter(({ length }) => length > 0)
}

/** Commits that are no longer in memory only count. */
function without(until: Revision, { cursor, commits, merged, isComplete }: WatchPosition): WatchPosition {
  const kept = commits.filter((commit) => (commit.at(-1)?.revision ?? 0) > until)
  const gone = commits.length - kept.length
  return { cursor, commits: kept, merged: merged + gone, isComplete: isComplete && gone === 0 }
}
