/**
 * A subscription to a state: the present first, then an update after each relevant change. All data of an update is of
 * one revision, its `cursor`. A caller with an access scope is not notified of changes outside it, not even by an empty
 * update.
 */
import type { Revision } from '../../domain/values.ts'
import type { WatchEvent, WatchOptions } from '../../feed/watch-stream.ts'
import type { Context } from '../execution/context.ts'
import { type Reader, readerOf } from '../execution/loaders.ts'
import { createSource, type Source } from './event-source.ts'

/** The reaction to an event: send an update, skip it, or watch something else. The next one gets `memory`. */
export type Reaction<Payload, Memory> =
  | { readonly send: Payload; readonly memory: Memory }
  | { readonly skip: true; readonly memory?: Memory }
  | { readonly follow: WatchOptions; readonly memory: Memory }

export interface Past<Memory> {
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

export function streamState<Payload, Memory>(
  context: Pick<Context, 'feed' | 'principal' | 'whose'>,
  options: WatchOptions,
  react: React<Payload, Memory>,
  begin: Past<Memory> = { memory: null, sentUpTo: 0 },
): Source<Payload> {
  const { feed, principal, whose } = context
  let idle = (): void => undefined
  let subscribers = 1
  const watch = (what: WatchOptions) => feed.watch({ ...what, whose, idle: () => idle() })
  let watched = watch(options)
  let { topics, matches }: WatchOptions = options
  let past = begin
  /** The state before the last update. */
  let before = begin
  let isClosed = false

  async function pull() {
    while (!isClosed) {
      const { done, value: event } = await watched.next()
      if (done) return null
      const reaction = await decide(event)
      if (reaction === null) return null
      before = past
      const { memory = past.memory } = reaction
      past = { memory, sentUpTo: 'send' in reaction ? event.cursor : past.sentUpTo }
      if ('send' in reaction)
        return { payload: reaction.send, resumeFrom: null, snapshot: event.snapshot, release: event.release }
      event.release()
      if ('follow' in reaction) await follow(reaction.follow)
    }
    return null
  }

  /** Null: the stream was closed meanwhile. */
  async function decide(event: WatchEvent): Promise<Reaction<Payload, Memory> | null> {
    try {
      const reader = readerOf(event.snapshot, principal.accessScope)
      const visible = reader.isNarrow ? await narrowed(reader, event) : event
      const reaction = visible === null ? ({ skip: true } as const) : await react(reader, visible, past)
      if (!isClosed) return reaction
    } catch (error) {
      event.release()
      await close()
      throw error
    }
    event.release()
    return null
  }

  /** Attaches the new watch, which starts with the present, before it closes the old one: no change is lost. */
  async function follow(next: WatchOptions): Promise<void> {
    const old = watched
    ;({ topics, matches } = next)
    watched = watch(next)
    watched.setSubscriberCount(subscribers)
    await old.return()
    if (isClosed) await watched.return()
  }

  async function close(): Promise<void> {
    isClosed = true
    await watched.return()
  }

  return createSource({
    pull,
    close,
    isIdle: () => watched.isIdle(),
    stateKey: () => JSON.stringify([topics, past.memory]),
    fork: () => streamState(context, { topics, ...(matches && { matches }), from: watched.before() }, react, before),
    whenIdle(notify) {
      idle = notify
    },
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
  return { ...event, changes: seen.flatMap(({ change }) => change ?? []) }
}
