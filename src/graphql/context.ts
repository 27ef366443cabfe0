/**
 * What resolvers get: one for each operation, and for each event of a subscription a new one. Its snapshot is opened by the first
 * read, so an operation that reads nothing costs the database nothing; whoever executes the operation closes it.
 */
import type { ApiAuth } from '../auth/api/api-auth.ts'
import { DomainError } from '../domain/errors.ts'
import { everyone, type Identity } from '../domain/identity.ts'
import type { Feed } from '../feed/feed.ts'
import type { Command } from '../ingest/command.ts'
import { type AuditEntry, audited, recordAudit } from '../ingest/commands/api-access.ts'
import type { Writer } from '../ingest/writer.ts'
import { createDeadline, type Deadline } from '../limits/deadline.ts'
import type { SinkManager } from '../sinks/manage.ts'
import type { Database, LogHead, Session, Snapshot } from '../store/database.ts'
import { type DocumentLimits, maxRows } from './limits.ts'
import { type Reader, readerOf } from './loaders.ts'
import { type See, seeingOf } from './seeing.ts'

export interface ContextDeps {
  readonly database: Pick<Database, 'snapshot' | 'session'>
  readonly writer: Pick<Writer, 'submit'>
  readonly feed: Pick<Feed, 'changes' | 'watch' | 'hub'>
  readonly sinks: SinkManager
  readonly limits: DocumentLimits
  readonly auth: Pick<ApiAuth, 'recheck'>
  /** Where the Git repository of what should run on a device is; null, or absent: there is none. */
  readonly repositoryOf?: ((device: string) => string | null) | undefined
}

export interface Context {
  /** Who asks. */
  readonly identity: Identity
  readonly feed: ContextDeps['feed']
  /** Who outside is told. */
  readonly sinks: SinkManager
  repositoryOf(device: string): string | null
  /** The `Last-Event-ID` that an EventSource reconnects with. */
  readonly lastEventId: string | null
  reader(): Promise<Reader>
  /** The same, when somebody has waited for it already. */
  opened(): Reader | null
  /** What is of no revision: keys, the audit log. */
  readonly session: Session
  /** A credential was revoked here: whoever uses it is sent away at once. */
  recheckAccess(): Promise<void>
  /** What he is told of live changes; absent: all of it. */
  readonly see: See | undefined
  /** Resolves after COMMIT; what is read afterwards is as of then or later. */
  write<Result>(command: Command<Result>): Promise<Result>
  /** A mutation, which says in the audit log who did what: in the transaction of what it writes, or after it. */
  act<Result>(action: string, detail: unknown, work: () => Promise<Result> | Result): Promise<Result>
  /** Throws when there is an audit already. */
  audit: DocumentLimits['audit']
  /** Throws when lists within lists have become too many rows for one answer. */
  spend(rows: number): void
  /** As of which everything was read; null: nothing was. */
  head(): Promise<LogHead | null>
  /** Aborts when the operation takes too long, counted from when somebody asks: what waits for nothing needs none. */
  signal(): AbortSignal
  /** What `spend` threw, or the reads that took too long: then the whole answer is this. */
  excess(): DomainError | null
  close(): Promise<void>
}

export interface ContextOptions {
  readonly identity?: Identity | undefined
  /** Where the caller is, for the audit log. */
  readonly address?: string | undefined
  /** Read this one, which belongs to somebody else. */
  readonly snapshot?: Snapshot | null
  readonly lastEventId?: string | null
  /** Waits until it may have a snapshot of its own; to be called when that is closed. */
  readonly enter?: ((signal: AbortSignal) => Promise<() => void>) | undefined
}

export function createContext(
  deps: ContextDeps,
  { identity = everyone, address = '', snapshot = null, lastEventId = null, enter }: ContextOptions = {},
): Context {
  let deadline: Deadline | null = null
  const isShared = snapshot !== null
  let opened: Promise<Snapshot> | null = snapshot && Promise.resolve(snapshot)
  let current: Reader | null = null
  let isClosed = false
  let spent = 0
  let excess: DomainError | null = null
  let acting: AuditEntry | null = null

  function signal(): AbortSignal {
    deadline ??= createDeadline(deps.limits.time, deps.limits.refuse)
    if (isClosed) deadline.met()
    return deadline.signal
  }

  async function open(): Promise<Snapshot> {
    const leave = await enter?.(signal())
    try {
      const own = await deps.database.snapshot(signal())
      return leave ? { ...own, close: () => own.close().finally(leave) } : own
    } catch (error) {
      leave?.()
      throw error
    }
  }

  async function close(): Promise<void> {
    if (opened === null || (isShared && !isClosed)) return
    const closing = opened
    opened = null
    current = null
    if (isShared) return
    // When it could not be opened, the readers were told.
    await closing.then((own) => own.close()).catch(() => undefined)
  }

  return {
    identity,
    session: deps.database.session,
    recheckAccess: deps.auth.recheck,
    signal,
    audit: deps.limits.audit,
    see: identity.sight ? seeingOf(deps.database, identity.sight) : undefined,
    feed: deps.feed,
    sinks: deps.sinks,
    repositoryOf: deps.repositoryOf ?? (() => null),
    lastEventId,
    async reader() {
      if (isClosed) throw new Error('the operation is over')
      signal().throwIfAborted()
      opened ??= open()
      const own = opened
      const reader = readerOf(await own, identity.sight)
      if (opened === own) current = reader
      return reader
    },
    opened: () => current,
    head: async () => (opened === null ? null : (await opened).head),
    async write(command) {
      // What was read for an earlier field of the operation is older than what follows.
      await close()
      if (!acting) return deps.writer.submit(command)
      const result = await deps.writer.submit(audited(command, acting))
      acting = null
      return result
    },
    async act(action, detail, work) {
      const { name: who, credential } = identity
      const done = { who, credential: credential.kind, address, action, outcome: 'done', detail, times: 1 }
      acting = { at: Date.now(), kind: 'MUTATION', ...done }
      let outcome = 'done'
      try {
        const result = await work()
        outcome = outcomeOf(result)
        return result
      } catch (error) {
        outcome = error instanceof DomainError ? error.code : 'failed'
        throw error
      } finally {
        const entry = acting
        acting = null
        if (entry) await deps.writer.submit(recordAudit([{ ...entry, outcome }])).catch(() => undefined)
      }
    },
    spend(rows) {
      spent += rows
      if (spent <= maxRows) return
      excess ??= deps.limits.refuse('rows', `this answer has more than ${maxRows} rows: ask for them in parts`, {
        max: maxRows,
      })
      throw excess
    },
    excess: () => excess ?? (deadline?.signal.aborted ? deadline.signal.reason : null),
    close() {
      isClosed = true
      deadline?.met()
      return close()
    },
  }
}

/** A mutation answers a success, or why not. */
function outcomeOf(result: unknown): string {
  const type = typeof result === 'object' && result !== null && 'type' in result ? String(result.type) : ''
  return type.endsWith('Success') ? 'done' : type
}
