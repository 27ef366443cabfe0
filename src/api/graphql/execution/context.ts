/**
 * The context of resolvers: one per operation, and one per event of a subscription. The first read opens its snapshot,
 * so an operation that reads nothing costs the database nothing. The code that executes the operation closes it.
 */

import { DomainError } from '../../../domain/errors.ts'
import { everyone, type Principal } from '../../../domain/principal.ts'
import type { Millis } from '../../../domain/values.ts'
import type { ShowChanges } from '../../../feed/event-queue.ts'
import type { Feed } from '../../../feed/feed.ts'
import { type Command, traced } from '../../../ingest/command.ts'
import { audited, recordAudit } from '../../../ingest/commands/api-access.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { SinkManager } from '../../../outlets/sinks/manage.ts'
import { createDeadline, type Deadline, type OnGone } from '../../../platform/limits/deadline.ts'
import type { Slices } from '../../../platform/limits/slices.ts'
import { heldTexts, tooManyTexts } from '../../../store/connection/held-texts.ts'
import { charactersOf } from '../../../store/connection/reading.ts'
import { sessionOf } from '../../../store/connection/transaction.ts'
import type { Database, Freshness, LogHead, Session, Snapshot } from '../../../store/database.ts'
import type { AuditEntry } from '../../../store/read/api-access.ts'
import type { ApiAuth } from '../../auth/api/api-auth.ts'
import type { DocumentLimits } from '../guards/limits.ts'
import { visibleChangesOf } from '../subscriptions/visible-changes.ts'
import { type Budget, createBudget } from './budget.ts'
import type { Metering } from './executor.ts'
import { type Reader, readerOf } from './loaders/reader.ts'

export interface ContextDeps {
  readonly database: Pick<Database, 'snapshot' | 'session'>
  readonly writer: Pick<Writer, 'submit' | 'newest'>
  readonly feed: Pick<Feed, 'changes' | 'watch' | 'hub'>
  readonly sinks: SinkManager
  readonly limits: DocumentLimits
  readonly slices: Slices
  readonly auth: Pick<ApiAuth, 'recheck'>
  /** The database's, which all replicas share. */
  readonly clock: () => Millis
  /** The Git repository with a device's desired state. Null or absent: Git is disabled. */
  readonly repositoryOf?: ((device: string) => string | null) | undefined
}

export interface Context {
  /** The caller. */
  readonly principal: Principal
  /** The caller that reads and execution time are charged to. */
  readonly whose: string
  readonly feed: ContextDeps['feed']
  readonly sinks: SinkManager
  readonly clock: ContextDeps['clock']
  repositoryOf(device: string): string | null
  /** The `Last-Event-ID` that an EventSource reconnects with. */
  readonly lastEventId: string | null
  reader(): Promise<Reader>
  /** The reader if it is open already. */
  opened(): Reader | null
  /** For data outside revisions: API keys, the audit log, sinks. The reader's session: another would wait for it on PGlite. */
  session(): Promise<Session>
  /** Call it after revoking a credential: it closes the connections that use it. */
  recheckAccess(): Promise<void>
  /** Filters live changes by the caller's access scope. Absent: no filter. */
  readonly visible: ShowChanges | undefined
  /** Resolves after COMMIT. Later reads see that commit. */
  write<Result>(command: Command<Result>): Promise<Result>
  /** Runs a mutation and records it in the audit log: in the transaction of its write, or else afterwards. */
  act<Result>(action: string, detail: unknown, work: () => Promise<Result> | Result): Promise<Result>
  /** Throws if another audit is running. */
  audit: DocumentLimits['audit']
  /** The size budget of the response. */
  readonly budget: Budget
  readonly turn: Metering['turn']
  /** The log head that all reads reflect. Null: nothing was read. */
  head(): Promise<LogHead | null>
  /** Whether a standby was lost while it was read. */
  isStandbyLost(): Promise<boolean>
  /** Aborts at the time limit, counted from the first call, and when the client leaves. An operation that never waits needs no timer. */
  signal(): AbortSignal
  /** The exceeded budget or time limit, which replaces the whole response. Null: none. */
  excess(): DomainError | null
  close(): Promise<void>
}

export interface ContextOptions {
  readonly principal?: Principal | undefined
  /** The caller's address, for the audit log. */
  readonly address?: string | undefined
  /** The W3C trace context of the request, for what its mutations write. */
  readonly traceparent?: string | null
  /** Absent: the caller's name. */
  readonly whose?: string | undefined
  /** A snapshot to read from. Its owner closes it. */
  readonly snapshot?: Snapshot | null
  readonly lastEventId?: string | null
  /** What a snapshot of its own must include. Default: the primary, for data outside revisions. */
  readonly freshness?: Freshness | undefined
  /** Waits for admission to open a snapshot. Call the result when the snapshot is closed. */
  readonly enter?: ((signal: AbortSignal) => Promise<() => void>) | undefined
  /** Absent: the operation goes on without its client. */
  readonly onGone?: OnGone | undefined
}

export function createContext(
  deps: ContextDeps,
  {
    principal = everyone,
    address = '',
    traceparent = null,
    whose = principal.name,
    snapshot = null,
    lastEventId = null,
    freshness = 'primary',
    enter,
    onGone,
  }: ContextOptions = {},
): Context {
  let deadline: Deadline | null = null
  const isShared = snapshot !== null
  let opened: Promise<Snapshot> | null = snapshot && Promise.resolve(snapshot)
  let current: Reader | null = null
  let isClosed = false
  const budget = createBudget(deps.limits.refuse)
  const held = heldTexts.hold()
  let acting: AuditEntry | null = null

  function signal(): AbortSignal {
    deadline ??= createDeadline(deps.limits.time, deps.limits.refuse, onGone)
    if (isClosed) deadline.met()
    return deadline.signal
  }

  async function open(): Promise<Snapshot> {
    const leave = await enter?.(signal())
    try {
      const own = await deps.database.snapshot(signal(), freshness)
      const run = async <T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]> => {
        try {
          const rows = await own.run<T>(text, parameters)
          budget.read(charactersOf(rows))
          if (!held.add(charactersOf(rows))) throw tooManyTexts()
          return rows
        } catch (error) {
          throw budget.unavailable(error)
        }
      }
      return { ...own, ...sessionOf(run), signal: signal(), ...(leave && { close: () => own.close().finally(leave) }) }
    } catch (error) {
      leave?.()
      throw error
    }
  }

  function ownSnapshot(): Promise<Snapshot> {
    if (isClosed) return Promise.reject(new Error('the operation has ended'))
    signal().throwIfAborted()
    opened ??= open()
    return opened
  }

  async function close(): Promise<void> {
    if (opened === null || (isShared && !isClosed)) return
    const closing = opened
    opened = null
    current = null
    if (isShared) return
    // If opening failed, the readers got that error.
    await closing.then((own) => own.close()).catch(() => undefined)
  }

  return {
    principal,
    whose,
    session: ownSnapshot,
    recheckAccess: deps.auth.recheck,
    signal,
    audit: deps.limits.audit,
    visible: principal.accessScope ? visibleChangesOf(deps.database, principal.accessScope) : undefined,
    feed: deps.feed,
    sinks: deps.sinks,
    clock: deps.clock,
    repositoryOf: deps.repositoryOf ?? (() => null),
    lastEventId,
    async reader() {
      const own = ownSnapshot()
      const reader = readerOf(await own, principal.accessScope)
      if (opened === own) current = reader
      return reader
    },
    opened: () => current,
    head: async () => (opened === null ? null : (await opened).head),
    isStandbyLost: async () =>
      opened === null ? false : ((await opened.catch(() => null))?.isStandbyLost?.() ?? false),
    async write(command) {
      await close()
      if (!acting) return deps.writer.submit(traced(command, traceparent))
      const result = await deps.writer.submit(traced(audited(command, acting), traceparent))
      acting = null
      return result
    },
    async act(action, detail, work) {
      // What was read for an earlier field is older than what follows. The embedded database has one connection: what is written waits for it.
      await close()
      const { name: caller, credential } = principal
      const done = { caller, credential: credential.kind, address, action, outcome: 'done', detail, times: 1 }
      acting = { at: deps.clock(), kind: 'MUTATION', ...done }
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
        if (entry) {
          await close()
          await deps.writer.submit(recordAudit([{ ...entry, outcome }])).catch(() => undefined)
        }
      }
    },
    budget,
    turn: (fields) => deps.slices.enter(whose, fields),
    excess: () => budget.excess() ?? (deadline?.signal.aborted ? deadline.signal.reason : null),
    close() {
      isClosed = true
      deadline?.met()
      held.release()
      return close()
    },
  }
}

/** The outcome for the audit log: `done`, or the type of the error. */
function outcomeOf(result: unknown): string {
  const type = typeof result === 'object' && result !== null && 'type' in result ? String(result.type) : ''
  return type.endsWith('Success') ? 'done' : type
}
