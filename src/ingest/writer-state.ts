/** What the parts of the writer share, and what they are configured with. */
import { randomUUID } from 'node:crypto'
import type { Change } from '../domain/change.ts'
import type { Millis, Revision } from '../domain/values.ts'
import type { Database, Session } from '../store/database.ts'
import type { LockedHead } from '../store/write/load.ts'
import { createRowCache, type RowCache } from './row-cache.ts'

export interface WriterOptions {
  readonly database: Database
  /** Called after COMMIT, in revision order; `since` is the head the batch began from. */
  readonly committed: (since: number, changes: readonly Change[], at: Millis) => void
  /** A lost connection (or a lock that a frozen server holds), as opposed to an error in the statement. */
  readonly isTransient: (error: unknown) => boolean
  /** Runs at the beginning of a connection's first transaction: is it still the same database? */
  readonly checkIdentity: (session: Session, newestSeen: number) => Promise<void>
  readonly observe?: (batch: { readonly size: number; readonly seconds: number }) => void
  readonly clock: () => Millis
  /** Seconds; see UnitOfWork. */
  readonly offlineAfter?: number | null
  /** Commands that may wait. More are refused with UNAVAILABLE. */
  readonly capacity?: number
  readonly batchSize?: number
  /** Deployments, and devices, in the row cache. */
  readonly remembered?: number
  /** How long a batch may try to reach the database before its commands fail with UNAVAILABLE. */
  readonly patience?: Millis
  /** Of all writers on this database, none has the same. */
  readonly name?: string
  /** How long another server has to answer a batch that was handed over to it. */
  readonly answerLimit?: Millis
}

export interface WriterState {
  /** This process's writer, in the log's head and in the table of batches. */
  readonly writer: string
  readonly rowCache: RowCache
  readonly clock: () => Millis
  readonly offlineAfter: number | null
  batchNumber: number
  newestSeen: Revision
  /** The connection whose database was checked to be the same. */
  connection: number | null
  /** The log's head once all batches in flight are committed; null: unknown, or other servers write too. */
  head: LockedHead | null
  /** When the last batch was written in order (performance.now()). */
  wroteAt: number | null
  /** Why the last batch could not be written: until one succeeds, batches fail without a long wait. */
  failure: { readonly error: unknown } | null
  isDraining: boolean
}

/** A writer of this name receives batches of other servers: an older server's names do not begin so. */
const inboxPrefix = 'inbox-'

export function createWriterState({
  database,
  name = randomUUID(),
  clock,
  offlineAfter = null,
  remembered = 50_000,
}: WriterOptions): WriterState {
  return {
    writer: `${database.mail ? inboxPrefix : ''}${name}`,
    rowCache: createRowCache(remembered),
    clock,
    offlineAfter,
    batchNumber: 0,
    newestSeen: 0,
    connection: null,
    head: null,
    wroteAt: null,
    failure: null,
    isDraining: false,
  }
}

export function hasInbox(writer: string): boolean {
  return writer.startsWith(inboxPrefix)
}

/** Nothing is known of the head and of any row. */
export function forget(state: WriterState): void {
  state.rowCache.forget()
  state.head = null
}
