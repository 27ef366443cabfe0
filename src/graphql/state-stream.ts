/**
 * A subscription to a state: the present first, then again whenever something changed that it shows. Everything that one update
 * shows is of one revision, its `cursor`. Who sees less is told of less: neither of changes elsewhere, nor that there were some.
 */
import type { WatchEvent, WatchOptions } from '../feed/watch-stream.ts'
import type { Context } from './context.ts'
import { type Reader, readerOf } from './loaders.ts'
import { createSource, type Source } from './source-event.ts'

/** What to do with an event: send this, nothing to see, or watch something else from here on. */
export type Reaction<Payload> = { readonly send: Payload } | { readonly skip: true } | { readonly follow: WatchOptions }

export function streamState<Payload>(
  { feed, identity }: Pick<Context, 'feed' | 'identity'>,
  options: WatchOptions,
  react: (reader: Reader, event: WatchEvent) => Promise<Reaction<Payload>>,
): Source<Payload> {
  let watched = feed.watch(options)
  let isClosed = false

  async function pull() {
    while (!isClosed) {
      const { done, value: event } = await watched.next()
      if (done) return null
      const reaction = await decide(event)
      if (reaction === null) return null
      if ('send' in reaction)
        return { payload: reaction.send, resumeFrom: null, snapshot: event.snapshot, release: event.release }
      event.release()
      if ('follow' in reaction) await follow(reaction.follow)
    }
    return null
  }

  /** Null when nobody wants to know any more. */
  async function decide(event: WatchEvent): Promise<Reaction<Payload> | null> {
    try {
      const reader = readerOf(event.snapshot, identity.sight)
      const told = reader.isNarrow ? await narrowed(reader, event) : event
      const reaction = told === null ? ({ skip: true } as const) : await react(reader, told)
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
    watched = feed.watch(next)
    await old.return?.()
    if (isClosed) await watched.return?.()
  }

  async function close(): Promise<void> {
    isClosed = true
    await watched.return?.()
  }

  return createSource(pull, close)
}

/** Null: nothing that its reader sees, or saw, has changed. */
async function narrowed(reader: Reader, event: WatchEvent): Promise<WatchEvent | null> {
  const seen = await reader.see(event.changes)
  if (seen.length > 0 && !seen.some(({ concerns }) => concerns)) return null
  return { ...event, changes: seen.flatMap(({ change }) => change ?? []) }
}
