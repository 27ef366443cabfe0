/**
 * A subscription to a state: the present first, then an update after each relevant change. All data of an update is of
 * one revision, its `cursor`. A caller with an access scope is not notified of changes outside it, not even by an empty
 * update.
 */
import type { Revision } from '../../../domain/values.ts'
import type { Shared } from '../../../feed/feed.ts'
import type { WatchEvent, WatchOptions, WatchStream } from '../../../feed/watch-stream.ts'
import type { Context } from '../execution/context.ts'
import { type Reader, readerOf } from '../execution/loaders/reader.ts'
import { createSource, type Source, type SourceEvent } from './event-source.ts'

/** The reaction to an event: send an update, skip it, or watch something else. The next one gets `memory`. */
export type Reaction<Payload, Memory> =
  /** `resumeFrom`: the cursor that a subscriber resumes with. Absent: it restarts with the present. */
  | { readonly send: Payload; readonly memory: Memory; readonly resumeFrom?: Revision }
  | { readonly skip: true; readonly memory?: Memory }
  | { readonly follow: WatchOptions; readonly memory: Memory }

interface Past<Memory> {
  /** Null: the first event. JSON. Reactions depend only on it and on their arguments. */
  readonly memory: Memory | null
  /** The cursor of the last update. */
  readonly sentUpTo: Revision
}

export type React<Payload, Memory> = (
  reader: Reader,
  event: WatchEvent,
  past: Past<Memory>,
) => Promise<Reaction<Payload, Memory>>

export interface StateOptions extends WatchOptions {
  /** The reaction gets changes that the caller does not see as well. It shows none of them. */
  readonly isUnscoped?: boolean
}

export function streamState<Payload, Memory>(
  context: Pick<Context, 'feed' | 'principal' | 'whose'>,
  key: string,
  options: StateOptions,
  react: React<Payload, Memory>,
  begin: Past<Memory> = { memory: null, sentUpTo: 0 },
): Source<Payload> {
  const { feed, principal, whose } = context
  const { isUnscoped = false, isPaced = false } = options
  let wake = (): void => undefined
  let subscribers = 1
  let isClosed = false
  let { topics, matches }: WatchOptions = options
  let past = begin
  /** The state before the last update. */
  let before = begin
  let watched = watch(options)

  function watch(what: WatchOptions): Shared<WatchStream> {
    const stream = feed.watch({ ...what, whose, isPaced })
    stream.onWake(() => wake())
    return stream
  }

  async function reactTo(first: ReturnType<WatchStream['next']>): Promise<SourceEvent<Payload> | 'idle' | 'ended'> {
    for (let next = first; ; next = watched.next()) {
      const event = await next
      if (typeof event === 'string') return event
      const reaction = await decide(event)
      before = past
      const { memory = past.memory } = reaction
      past = { memory, sentUpTo: 'send' in reaction ? event.cursor : past.sentUpTo }
      if ('send' in reaction)
        return {
          payload: reaction.send,
          resumeFrom: reaction.resumeFrom ?? null,
          snapshot: event.snapshot,
          release: event.release,
        }
      event.release()
      if ('follow' in reaction) follow(reaction.follow)
    }
  }

  async function decide(event: WatchEvent): Promise<Reaction<Payload, Memory>> {
    try {
      const reader = readerOf(event.snapshot, principal.accessScope)
      const visible = reader.isNarrow && !isUnscoped ? await narrowed(reader, event) : event
      return visible === null ? { skip: true } : await react(reader, visible, past)
    } catch (error) {
      event.release()
      if (event.snapshot.isStandbyLost?.()) {
        // The same event again, from another snapshot.
        follow({ topics, ...(matches && { matches }), from: watched.before() })
        return { skip: true }
      }
      watched.close()
      throw error
    }
  }

  /** Attaches the new watch, which starts with the present, before it closes the old one: no change is lost. */
  function follow(next: WatchOptions): void {
    const old = watched
    ;({ topics, matches } = next)
    watched = watch(next)
    watched.setSubscriberCount(subscribers)
    // The source may have been closed while it read.
    if (isClosed) watched.close()
    old.onWake(() => undefined)
    old.close()
  }

  return createSource({
    key,
    start: null,
    next() {
      const first = watched.next()
      return typeof first === 'string' ? first : reactTo(first)
    },
    onWake(notify) {
      wake = notify
    },
    close(failure) {
      isClosed = true
      watched.close(failure)
    },
    isIdle: () => watched.isIdle(),
    stateKey: () => JSON.stringify([topics, past.memory]),
    fork: () =>
      streamState(
        context,
        key,
        { topics, ...(matches && { matches }), isUnscoped, isPaced, from: watched.before() },
        react,
        before,
      ),
    setSubscriberCount(count) {
      subscribers = count
      watched.setSubscriberCount(count)
    },
  })
}

/** Null: no change concerns what the caller sees or saw. */
async function narrowed(reader: Reader, event: WatchEvent): Promise<WatchEvent | null> {
  const seen = await reader.see(event.changes)
  if (seen.length > 0 && !seen.some(({ concerns }) => concerns)) return null
  // Commits that concern others are not counted. Times distinguish commits.
  const concerning = event.changes.filter((_, index) => seen[index]?.concerns)
  const coalesced = Math.max(new Set(concerning.map(({ at }) => at)).size - 1, 0)
  return { ...event, coalesced, changes: seen.flatMap(({ change }) => change ?? []) }
}
