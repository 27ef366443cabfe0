/**
 * One subscriber of `changes`: every change after its cursor, once, in order. change-stream-state.ts has its states.
 *
 * A stream that has begun outlives an outage of the database: it waits until the log can be read again, and checks its
 * cursor again. A stream attaches to the hub in the turn of the event loop in which it has read everything that the hub
 * published, so it has nothing to splice. The result of a read belongs to the state that asked for it: if the state
 * changed meanwhile, the result is dropped.
 */
import { type ChangeFilter, subjectsOf } from '../domain/nouns/change.ts'
import type { Revision } from '../domain/values.ts'
import { isTransient } from '../store/connection/failure.ts'
import type { Backlog } from './backlog.ts'
import { type Input, type State, step } from './change-stream-state.ts'
import type { LogRange } from './cursor.ts'
import { createEventQueue, type FeedEvent, type QueuePosition, type ShowChanges } from './event-queue.ts'
import type { Hub, Topic } from './hub.ts'
import type { Stream } from './stream.ts'

interface ChangeStreamSource {
  readonly hub: Hub
  readonly backlog: Backlog
  /** The range of the log in the database. The hub has reached its head. */
  readonly range: () => Promise<LogRange>
  /** Calls back once, when the log can be read again. */
  readonly whenReadable: (callback: () => void) => void
  /** Events that a stream may be behind before it ends with OVERFLOW. */
  readonly capacity: number
  /** Called once, when the stream is closed or has ended. */
  readonly closed?: (() => void) | undefined
}

export interface ChangeStreamOptions {
  readonly filter: ChangeFilter
  /** Null: from now on. */
  readonly after: Revision | null
  /** Absent: all of each change is visible. */
  readonly visible?: ShowChanges | undefined
  /** Continues where another stream with the same filter was, whatever `after` says. */
  readonly from?: ChangePosition | undefined
}

export interface ChangePosition {
  readonly state: State
  readonly queue: QueuePosition
}

export interface ChangeStream extends Stream<FeedEvent> {
  /** Advances the cursor of an idle subscriber with a filter, so that it never expires. */
  bookmark(): void
  /** The position before the event that `next` returned last. */
  before(): ChangePosition
}

export function createChangeStream(source: ChangeStreamSource, options: ChangeStreamOptions): ChangeStream {
  const { hub, backlog } = source
  const { filter, after, visible, from } = options
  const isFiltered = visible !== undefined || Object.keys(filter).length > 0
  const queue = createEventQueue(filter, visible, from?.queue ?? { queued: [], authorized: [], delivered: after ?? 0 })
  let state: State = from?.state ?? { name: 'unchecked', position: after, hasBegun: false }
  let detach: (() => void) | null = null
  let isWaiting = false
  let isFinished = false
  let wakeConsumer = (): void => undefined
  if (state.name === 'live') attach()

  function handle(input: Input): void {
    const { state: next, events } = step(state, input, filter)
    // A stream without a cursor begins here.
    if (state.name === 'unchecked' && state.position === null && next.name === 'reading') queue.skipTo(next.position)
    state = next
    queue.push(events)
    if (state.name === 'live') attach()
    else if (detach) {
      detach()
      detach = null
    }
  }

  function attach(): void {
    detach ??= hub.subscribe({
      topics: topicsFor(filter),
      changed(changes) {
        if (queue.size() > source.capacity) {
          handle({ kind: 'overflow' })
          queue.replace({ cursor: queue.delivered(), change: null, reset: 'OVERFLOW' })
        } else {
          // Everything before these changes was delivered or did not match.
          if (queue.isEmpty()) queue.skipTo((changes[0]?.revision ?? 0) - 1)
          handle({ kind: 'published', changes })
        }
        if (queue.size() > 0) wake()
      },
      interrupted() {
        handle({ kind: 'interrupted' })
        wake()
      },
      dropped(until) {
        if ((queue.oldest() ?? until + 1) > until) return
        queue.clear()
        handle({ kind: 'behind', position: queue.delivered() })
      },
    })
  }

  function wake(): void {
    if (!isWaiting) return
    isWaiting = false
    wakeConsumer()
  }

  /** Does what the state asks for. */
  async function proceed(asked: State): Promise<void> {
    switch (asked.name) {
      case 'unchecked':
      case 'verifying': {
        const log = await source.range()
        return when(asked, () => ({ kind: 'checked', log, last: hub.last }))
      }
      case 'reading': {
        if (asked.position >= hub.last) return handle({ kind: 'caught-up', last: hub.last })
        const page = await backlog(asked.position)
        return when(asked, () => ({ kind: 'page', page }))
      }
    }
  }

  function when(asked: State, input: () => Input): void {
    if (state === asked) handle(input())
  }

  async function advance(): Promise<FeedEvent | 'idle' | 'ended'> {
    for (;;) {
      const event = queue.take()
      if (event) return event
      if (isAtRest()) return rest()
      try {
        await (queue.authorize() ?? proceed(state))
      } catch (error) {
        const hasBegun = state.name !== 'unchecked' || state.hasBegun
        if (hasBegun && isTransient(error)) return waitForOutage()
        close(error)
      }
    }
  }

  function waitForOutage(): 'idle' {
    handle({ kind: 'outage' })
    isWaiting = true
    source.whenReadable(wake)
    return 'idle'
  }

  function isAtRest(): boolean {
    return queue.isEmpty() && (state.name === 'live' || state.name === 'ended')
  }

  /** Throws the failure of a stream that ended with one, once. */
  function rest(): 'idle' | 'ended' {
    if (state.name !== 'ended') {
      isWaiting = true
      return 'idle'
    }
    const { failure } = state
    state = { name: 'ended', failure: null }
    finish()
    if (failure !== null) throw failure
    return 'ended'
  }

  function finish(): void {
    if (isFinished) return
    isFinished = true
    source.closed?.()
  }

  function close(failure?: unknown): void {
    handle({ kind: 'close', failure })
    queue.clear()
    finish()
    wake()
  }

  return {
    next() {
      isWaiting = false
      const event = queue.take()
      if (event) return event
      return isAtRest() ? rest() : advance()
    },
    onWake(notify) {
      wakeConsumer = notify
    },
    isIdle: () => isWaiting && state.name === 'live' && queue.isEmpty() && state.position <= hub.last,
    close,
    bookmark() {
      if (!isFiltered || state.name !== 'live' || !queue.isEmpty() || queue.delivered() >= hub.last) return
      handle({ kind: 'bookmark', last: hub.last })
      wake()
    },
    before: () => ({ state, queue: queue.before() }),
  }
}

/** The narrowest field of the filter is the index. The rest of the filter is applied to what the index finds. */
function topicsFor(filter: ChangeFilter): readonly Topic[] {
  const { deploymentIds, deviceIds, instanceIds, rolloutKeys } = subjectsOf(filter) ?? {}
  if (deploymentIds) return deploymentIds.map((id): Topic => `deployment:${id}`)
  if (deviceIds) return deviceIds.map((id): Topic => `device:${id}`)
  if (instanceIds) return instanceIds.map((id): Topic => `instance:${id}`)
  if (rolloutKeys) return rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
