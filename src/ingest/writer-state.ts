/** The shared state and the options of the writer's parts. */
import { randomUUID } from 'node:crypto'
import type { Change } from '../domain/change.ts'
import type { Millis, Revision } from '../domain/values.ts'
import type { Database, Session } from '../store/database.ts'
import type { LockedHead } from '../store/write/load/load.ts'
import type { Batch } from './batch.ts'
import { createRowCache, type RowCache } from './row-cache.ts'

export interface WriterOptions {
  readonly database: Database
  /** Called after COMMIT, in revision order; `since` is the head before the batch. */
  readonly committed: (since: number, changes: readonly Change[], at: Millis) => void
  /** A lost connection (or a lock that a frozen server holds), as opposed to an error in the statement. */
  readonly isTransient: (error: unknown) => boolean
  /** Runs at the beginning of a connection's first transaction, to check that the database is the same. */
  readonly checkIdentity: (session: Session, newestSeen: number) => Promise<unknown>
  /** `revision`: that of the log after the batch. */
  readonly observe?: (written: {
    readonly batch: Batch
    readonly size: number
    readonly seconds: number
    readonly revision: Revision
  }) => void
  readonly clock: () => Millis
  /** Seconds; see UnitOfWork. */
  readonly offlineAfter?: number | null
  /** The limit of queued commands. Further commands are refused with UNAVAILABLE. */
  readonly capacity?: number
  /** How long a batch may retry to reach the database before its commands fail with UNAVAILABLE. */
  readonly commitTimeout?: Millis
  /** Unique among all writers on this database. */
  readonly name?: string
  /** How long another server has to answer a batch that was handed over to it. */
  readonly answerLimit?: Millis
  /** How long a batch waits for the commands of other servers, after a batch that took so long; see servers/gathering.ts. */
  readonly gatherLimit?: (batchTime: Millis) => Millis
}

export interface WriterState {
  /** This process's writer, in the log's head and in the table of batches. */
  readonly writer: string
  readonly rowCache: RowCache
  readonly clock: () => Millis
  readonly offlineAfter: number | null
  batchNumber: number
  newestSeen: Revision
  /** Lanes whose newest batch another server may still write, although it is settled here. The next ordered write ends that. */
  readonly openLanes: Set<string>
  /** The connection whose database was checked. */
  connection: number | null
  /** The log's head once all batches in flight are committed; null: unknown, or other servers write too. */
  head: LockedHead | null
  /** Commands of the next batch: fewer after one that would have loaded too much. */
  batchLimit: number
  /** When the last batch of another server arrived (performance.now()). */
  handedAt: number
  /** When the last batch was answered, and how long it took (performance.now()). */
  answered: { readonly at: number; readonly batchTime: number }
  /** When the last batch was written in order (performance.now()). */
  wroteAt: number | null
  /** Why the last batch could not be written: until one succeeds, batches fail without a long wait. */
  failure: { readonly error: unknown } | null
  isDraining: boolean
}

/** The limit of commands of one batch. */
export const batchSize = 1_000

/** Deployments, and devices, in the row cache. */
const cachedRows = 50_000

/** The prefix of writers that receive batches of other servers, in the form of command.ts. Another form needs another prefix. */
const inboxPrefix = 'inbox-'

export function createWriterState({
  database,
  name = randomUUID(),
  clock,
  offlineAfter = null,
}: WriterOptions): WriterState {
  return {
    writer: `${database.mail ? inboxPrefix : ''}${name}`,
    rowCache: createRowCache(cachedRows),
    clock,
    offlineAfter,
    batchNumber: 0,
    newestSeen: 0,
    openLanes: new Set(),
    connection: null,
    head: null,
    batchLimit: batchSize,
    handedAt: Number.NEGATIVE_INFINITY,
    answered: { at: Number.NEGATIVE_INFINITY, batchTime: 0 },
    wroteAt: null,
    failure: null,
    isDraining: false,
  }
}

/** Milliseconds after a batch of another server. */
const followedFor = 1_000

/** Whether other servers hand their batches over to this one. */
export function isFollowed({ handedAt }: Pick<WriterState, 'handedAt'>): boolean {
  return performance.now() - handedAt < followedFor
}

export function hasInbox(writer: string): boolean {
  return writer.startsWith(inboxPrefix)
}

/** More would make the batches smaller: two are under way most of the time. */
const laneCount = 4

/** Names in `batches` for what this writer hands over (servers/follower.ts). */
export function lanesOf(writer: string): readonly string[] {
  return Array.from({ length: laneCount }, (_, lane) => `${writer}.${lane}`)
}

/** Forgets the head and all cached rows. */
export function forget(state: WriterState): void {
  state.rowCache.forget()
  state.head = null
}
