import type { SQL } from 'drizzle-orm'
import type { AccessScope } from '../domain/access-scope.ts'
import type { Millis, Revision } from '../domain/values.ts'

/**
 * A connection to the database, the same on PostgreSQL and PGlite. Values arrive as:
 * int2/4/8 number · numeric string of digits · bool boolean · timestamptz Millis (number) · json/jsonb parsed · text, enums string.
 * Parameters: strings, numbers, booleans, null; times as ISO strings; lists as JSON text (`$1::text::json`) or a typed array literal.
 */
export interface Session {
  /** The reader's access scope (read/access-scope.ts). Absent: the whole fleet. Every statement about the fleet must apply it. */
  readonly accessScope?: AccessScope
  /** Runs a drizzle `sql` template. */
  rows<T extends object>(query: SQL): Promise<T[]>
  /** Runs a prepared text, for statements that are built once. */
  run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]>
}

/** A reader that uses prepared text only. */
export type Reader = Pick<Session, 'run'>

/** A session within a transaction. */
export interface WritingSession extends Session {
  /** Changes with each new connection, because it may lead to another server or to a server with older data. */
  readonly connection: number
}

/** Runs a text without parameters, unprepared. */
export type RunText = <T extends object>(text: string) => Promise<T[]>

export interface LogHead {
  readonly epochBase: Revision
  readonly revision: Revision
  readonly tail: Revision
  readonly tailAt: Millis
  readonly at: Millis
  readonly writes: number
}

/**
 * A repeatable-read, read-only transaction: all its answers are as of the revision of its head. Statements are sent without waiting for
 * the answer to BEGIN; if that fails, they fail too. Close it exactly once.
 */
export interface Snapshot extends Session {
  /** Of its database. Embedded, all other callers wait for each of its statements. */
  readonly kind: 'postgres' | 'pglite'
  readonly head: Promise<LogHead>
  /** Values derived from this snapshot. They live as long as it. */
  readonly derived: Map<string, unknown>
  /** Whether other callers wait for its connection: on the embedded database, which has one, reports do. */
  isWanted(): boolean
  /** Whether a standby was lost while it was read, so the same work may succeed on the primary. Absent: it reads the primary. */
  readonly isStandbyLost?: () => boolean
  /** Aborts when the operation that reads it has to end. Absent: several operations share it. */
  readonly signal?: AbortSignal
  close(): Promise<void>
}

/**
 * What a snapshot must include. `primary`: it reads the primary. `present`: everything that was committed before the call, also by other
 * servers. A revision: everything up to that revision. The last two may read a standby.
 */
export type Freshness = 'primary' | 'present' | Revision

export interface Database {
  readonly kind: 'postgres' | 'pglite'
  /** The location of the data, for operators. Without a password. */
  readonly location: string
  /** For single statements outside transactions. */
  readonly session: Session
  /** Resolves when all data is lost, and everything fails from now on. Absent: it never is. */
  readonly gone?: Promise<void>
  /**
   * Aborting `signal` ends the snapshot: its running statement is cancelled if the database can do so, and later statements fail.
   * Default of `freshness`: the primary.
   */
  snapshot(signal?: AbortSignal, freshness?: Freshness): Promise<Snapshot>
  /** Absent: the database has none. */
  readonly standbys?: Standbys
  /** A READ COMMITTED transaction on the writer's connection. It commits when `work` returns and rolls back when it throws. */
  transaction<T>(work: (session: WritingSession) => Promise<T>): Promise<T>
  /**
   * Sends a statement, which is its own transaction, on the writer's connection of that number. It does not wait for the answers to
   * earlier statements. It fails as a lost connection does if the writer has another connection by now. If the connection is lost
   * meanwhile, the statement may still be executed later, so it must be harmless then.
   */
  append<T extends object>(connection: number, text: string, parameters: readonly unknown[]): Promise<T[]>
  /**
   * Reads what the writer needs next, while its statements are executed: on another connection with the writer's settings. All statements of `work` are sent
   * on the same connection, or fail.
   */
  readBeside<T>(work: (reader: Reader) => Promise<T>): Promise<T>
  /**
   * Changes tables in one transaction, which may take long. It fails (55P03) if it waits longer for a lock than `lockLimit`, in milliseconds. If it fails,
   * it has changed nothing.
   */
  alter(statements: readonly string[], lockLimit: number, signal?: AbortSignal): Promise<void>
  /**
   * Calls `work` with a connection of its own, for statements that take long. Each is executed outside of a transaction, and fails (55P03) if it waits longer
   * for a lock than `lockLimit`, in milliseconds. Null: the embedded database has one connection.
   */
  readonly onOwnConnection: ((lockLimit: number, work: (run: RunText) => Promise<void>) => Promise<void>) | null
  /** Calls `ring` with the newest revision on each NOTIFY, and with null after each (re)connection. Null: read the log. */
  listen(ring: (revision: Revision | null) => void): Promise<void>
  /** Calls `changed` when another server revokes a credential of the API, and after each (re)connection, when it may have missed that. */
  onAccessChange(changed: () => void): void
  /** Messages between the servers on this database; null: it has only one. */
  readonly mail: Mail | null
  ping(): Promise<void>
  /** Begins a copy of the database, while it works. Throws CONFLICT while another one is made. Absent: other means make it. */
  readonly backUp?: () => Promise<Backup>
  close(): Promise<void>
}

export interface Backup {
  /** The copy contains this revision, and those that are committed until it ends. */
  readonly revision: Revision
  /** The file (connection/embedded/backup.ts). */
  readonly bytes: AsyncIterable<Buffer>
  /** Also ends one that is incomplete. */
  close(): Promise<void>
}

/** The servers of DATABASE_READ_URL. */
export interface Standbys {
  /** In the order of the variable. */
  states(): readonly StandbyState[]
  /** The snapshots of the primary. */
  primaryReads(): number
  /** Calls `changed` when a standby is left out, and when it is used again. */
  onChange(changed: (state: StandbyState) => void): void
}

export interface StandbyState {
  /** Its place in the variable, from 1. */
  readonly number: number
  /** Its URL without the password. */
  readonly location: string
  /** Why it is left out. Null: it is used. */
  readonly problem: string | null
  /** Null: unknown. */
  readonly lag: { readonly seconds: number; readonly revisions: number } | null
  /** The snapshots that it served. */
  readonly reads: number
}

/** Messages between servers. None is kept: one that is sent while its receiver does not listen is lost. */
export interface Mail {
  /** Sends messages in order, on the writer's connection. A message is ASCII, at most `largestMessage` characters. */
  send(channel: string, messages: readonly string[]): Promise<void>
  /** Calls `received` with each message on that channel while the connection for notifications is open. */
  receive(channel: string, received: (message: string) => void): void
}

/** PostgreSQL takes 7,999 bytes. */
export const largestMessage = 7_900

/**
 * The NOTIFY channel between replicas. The payload is the newest revision, or `accessChange`. A channel is the database's, and each schema of it may have an
 * installation of its own.
 */
export function doorbellOf(schema: string): string {
  return `rollcall_feed_${schema}`
}

/** The same in SQL. */
export const doorbellText = `'${doorbellOf('')}' || current_schema()`

/** A credential of the API was revoked. It is not named: each server asks the database. */
export const accessChange = 'access'

/**
 * default_statistics_target of the connections that analyze tables: a sample of 9,000 rows instead of 30,000. To analyze the log with PostgreSQL's default
 * takes 0.2 s of processor time each time that it has doubled, in which the embedded database does nothing else. Autovacuum uses the server's own target.
 */
export const statisticsTarget = 30
