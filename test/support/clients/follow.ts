/** Subscribers that keep what they received. */
import type { ChangeFilter } from '../../../src/domain/nouns/change.ts'
import type { Revision } from '../../../src/domain/values.ts'
import type { FeedEvent } from '../../../src/feed/event-queue.ts'
import type { Road } from '../servers/road.ts'

export interface Follower {
  readonly events: readonly FeedEvent[]
  /** Of the changes alone. */
  revisions(): Revision[]
  resets(): FeedEvent[]
  /** Leaves; rejects if the stream had failed. */
  leave(): Promise<void>
}

export function follow(road: Road, after: Revision | null, filter: ChangeFilter = {}): Follower {
  const stream = road.changes({ filter, after })
  const events: FeedEvent[] = []
  const following = (async () => {
    for await (const event of stream) events.push(event)
  })()
  following.catch(() => {})
  return {
    events,
    revisions: () => events.flatMap(({ change }) => (change ? [change.revision] : [])),
    resets: () => events.filter(({ reset }) => reset !== null),
    async leave() {
      await stream.return?.()
      await following
    },
  }
}

export interface Watcher {
  /** What each update was of, and the revisions of the changes it came with. */
  readonly updates: readonly { readonly cursor: Revision; readonly revisions: readonly Revision[] }[]
  leave(): Promise<void>
}

/** Watches everything there is. */
export function watch(road: Road): Watcher {
  const stream = road.watch({ topics: ['all'] })
  const updates: { cursor: Revision; revisions: readonly Revision[] }[] = []
  const watching = (async () => {
    for await (const { cursor, changes, release } of stream) {
      updates.push({ cursor, revisions: changes.map(({ revision }) => revision) })
      release()
    }
  })()
  watching.catch(() => {})
  return {
    updates,
    async leave() {
      await stream.return?.()
      await watching
    },
  }
}
