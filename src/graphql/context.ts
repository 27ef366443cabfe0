/**
 * What resolvers get: one for each operation, and for each event of a subscription a new one. Its snapshot is opened by the first
 * read, so an operation that reads nothing costs the database nothing; whoever executes the operation closes it.
 */
import type { Feed } from '../feed/feed.ts'
import type { Command } from '../ingest/command.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Database, Snapshot } from '../store/database.ts'
import { type Reader, readerOf } from './loaders.ts'

export interface ContextDeps {
  readonly database: Pick<Database, 'snapshot'>
  readonly writer: Pick<Writer, 'submit'>
  readonly feed: Pick<Feed, 'changes' | 'watch' | 'hub'>
}

export interface Context {
  readonly feed: ContextDeps['feed']
  /** The `Last-Event-ID` that an EventSource reconnects with. */
  readonly lastEventId: string | null
  reader(): Promise<Reader>
  /** Resolves after COMMIT; what is read afterwards is as of then or later. */
  write<Result>(command: Command<Result>): Promise<Result>
  close(): Promise<void>
}

export interface ContextOptions {
  /** Read this one, which belongs to somebody else. */
  readonly snapshot?: Snapshot | null
  readonly lastEventId?: string | null
}

export function createContext(
  deps: ContextDeps,
  { snapshot = null, lastEventId = null }: ContextOptions = {},
): Context {
  let opened: Promise<Snapshot> | null = snapshot && Promise.resolve(snapshot)
  let isClosed = false

  async function close(): Promise<void> {
    if (opened === null || snapshot !== null) return
    const closing = opened
    opened = null
    // When it could not be opened, the readers were told.
    await closing.then((own) => own.close()).catch(() => undefined)
  }

  return {
    feed: deps.feed,
    lastEventId,
    async reader() {
      if (isClosed) throw new Error('the operation is over')
      opened ??= deps.database.snapshot()
      return readerOf(await opened)
    },
    async write(command) {
      const result = await deps.writer.submit(command)
      await close()
      return result
    },
    close() {
      isClosed = true
      return close()
    },
  }
}
