/**
 * A subscription to a state: the present first, then again whenever something changed that it shows. Everything that one update
 * shows is of one revision, its `cursor`. Who sees less is told of less: neither of changes elsewhere, nor that there were some.
 */
import type { Revision } from '../domain/deployment.ts'
import type { WatchEvent, WatchOptions } from '../feed/watch-stream.ts'
import type { Context } from './context.ts'
import { type Reader, readerOf } from './loaders.ts'
import { createSource, type Source } from './source-event.ts'

/** What to do with an event: send this, nothing to see, or watch something else from here on. And what to know at the next one. */
export type Reaction<Payload, Memory> =
  | { readonly send: Payload; readonly memory: Memory }
  | { readonly skip: true; readonly memory?: Memory }
  | { readonly follow: WatchOptions; readonly memory: Memory }

export interface Past<Memory> {
  /** Null: it is the first event. JSON, and all that its reactions depend on but what they are given. */
  readonly memory: Memory | null
  /** The cursor of what was sent last. */
  readonly sentUpTo: Revision
}

export type React<Payload, Memory> = (
  reader: Reader,
  event: WatchEvent,
  past: Past<Memory>,
) => Promise<Reaction<Payload, Memory>>

export function streamState<Payload, Memory>(
  context: Pick<Context, 'feed' | 'identity'>,
  options: WatchOptions,
  react: React<Payload, Memory>,
  begin: Past<Memory> = { memory: null, sentUpTo: 0 },
): Source<Payload> {
  const { feed, identity } = context
  let quiet = (): void => undefined
  let subscribers = 1
  const watch = (what: WatchOptions) => feed.watch({ ...what, quiet: () => quiet() })
  let watched = watch(options)
  let { topics, matches }: WatchOptions = options
  let past = begin
  /** Before what was sent last. */
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

  /** Null when nobody wants to know any more. */
  async function decide(event: WatchEvent): Promise<Reaction<Payload, Memory> | null> {
    try {
      const reader = readerOf(event.snapshot, identity.sight)
      const told = reader.isNarrow ? await narrowed(reader, event) : event
      const reaction = told === null ? ({ skip: true } as const) : await react(reader, told, past)
      if (!isClosed) return reaction
    } catch (error) {
      event.release()
      await close()
      throw error
    }
    event.release()
    return null
  }

  /** The new one is attached before the old one goes, and begins with the present: nothing falls between them. */
  async function follow(next: WatchOptions): Promise<void> {
    const old = watched
    ;({ topics, matches } = next)
    watched = watch(next)
    watched.carry(subscribers)
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
    isQuiet: () => watched.isQuiet(),
    standing: () => JSON.stringify([topics, past.memory]),
    fork: () => streamState(context, { topics, ...(matches && { matches }), from: watched.before() }, react, before),
    whenQuiet(tell) {
      quiet = tell
    },
    carry(count) {
      subscribers = count
      watched.carry(count)
    },
  })
}

/** Null: nothing that its reader sees, or saw, has changed. */
async function narrowed(reader: Reader, event: WatchEvent): Promise<WatchEvent | null> {
  const seen = await reader.see(event.changes)
  if (seen.length > 0 && !seen.some(({ concerns }) => concerns)) return null
  return { ...event, changes: seen.flatMap(({ change }) => change ?? []) }
}
