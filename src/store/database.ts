import type { SQL } from 'drizzle-orm'
import type { AccessScope } from '../domain/access-scope.ts'
import type { Millis, Revision } from '../domain/values.ts'

/**
 * One connection's view of the database, the same on PostgreSQL and PGlite. Values arrive as:
 * int2/4/8 number · numeric string of digits · bool boolean · timestamptz Millis (number) · json/jsonb parsed · text, enums string.
 * Parameters: strings, numbers, booleans, null; times as ISO strings; lists as JSON text (`$1::text::json`) or a typed array literal.
 */
export interface Session {
  /** How much its reader sees (sight.ts); absent: everything. Who reads of the fleet in here has to ask. */
  readonly accessScope?: AccessScope
  /** Runs a drizzle `sql` template. */
  rows<T extends object>(query: SQL): Promise<T[]>
  /** Runs prepared text: for statements that are built once. */
  run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]>
}

/** Of a transaction. */
export interface WritingSession extends Session {
  /** Another number than before: another connection, perhaps to another server, or to the same one with an older copy. */
  readonly connection: number
}

export interface LogHead {
  readonly epochBase: Revision
  readonly revision: Revision
  readonly tail: Revision
  readonly tailAt: Millis
  readonly at: Millis
  readonly writes: number
}

/**
 * A repeatable-read, read-only transaction: everything it answers is as of the revision of its head. What is asked need not wait for
 * its beginning: it follows it unanswered, and when that fails, fails with it. Close it exactly once.
 */
export interface Snapshot extends Session {
  readonly head: Promise<LogHead>
  close(): Promise<void>
}

export interface Database {
  readonly kind: 'postgres' | 'pglite'
  /** For people: where the data is, without a password. */
  readonly location: string
  /** Statements on their own, outside any transaction. */
  readonly session: Session
  /** Aborting `signal` ends it: the statement that runs is cancelled where the database can do so, whatever else is asked fails. */
  snapshot(signal?: AbortSignal): Promise<Snapshot>
  /** A READ COMMITTED transaction on the writer's own connection; committed when it returns, rolled back when it throws. */
  transaction<T>(work: (session: WritingSession) => Promise<T>): Promise<T>
  /**
   * A statement that is a transaction of its own, on the writer's connection of that number, behind what was asked there before and
   * without waiting for the answers to that. Fails as if the connection were lost when it is another by now. Of one that is lost with it
   * on its way, it may still be done later: it has to see to it itself that this does no harm.
   */
  append<T extends object>(connection: number, text: string, parameters: readonly unknown[]): Promise<T[]>
  /** Calls `ring` with the newest revision on each NOTIFY, and with null after each (re)connection: read the log then. */
  listen(ring: (revision: Revision | null) => void): Promise<void>
  /** Calls `changed` when a credential of the API was withdrawn by another server, and after each (re)connection: one may have been. */
  onAccessChange(changed: () => void): void
  ping(): Promise<void>
  close(): Promise<void>
}

/** The channel of the doorbell between replicas: its payload is the newest revision and nothing else. */
export const doorbellChannel = 'rollcall_feed'

/** Says that a credential of the API was withdrawn, and not which. A channel of its own: a server of an older version expects revisions on the other. */
export const accessChannel = 'rollcall_access'
