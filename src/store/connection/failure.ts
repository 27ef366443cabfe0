/** Why a statement failed: the connection (try again, the outcome may be unknown) or the statement itself (never again). */

/** An error of this process, with the SQLSTATE that a server would give it. */
export class StatementError extends Error {
  readonly code: string | undefined

  constructor(message: string, code: string | undefined, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StatementError'
    this.code = code
  }
}

/** No session was opened, so no statement was sent. The message says why and what to do. It has the code of its cause. */
export class ConnectionRefusal extends StatementError {}

/** A code of this program, in a class that PostgreSQL leaves to applications. */
const sharedState = 'R0002'

/** A pooler in front of the database gives a session to several clients. */
export function shared(): StatementError {
  return new StatementError('a pooler in front of the database gives its sessions to several clients', sharedState)
}

export function lost(): StatementError {
  return new StatementError('the connection to the database was lost', '08006')
}

/** A code of this program, in a class that PostgreSQL leaves to applications. */
const incompleteState = 'R0001'

/** The database answers, but is not complete (migration/complete.ts). The same statement succeeds when it is. `missing`: in a clause. */
export function incomplete(missing: string, cause?: unknown): StatementError {
  return new StatementError(missing, incompleteState, cause)
}

export function noLogHead(): StatementError {
  return incomplete('the database has no log head')
}

/** What the database lacks, in a clause. Null: the failure has another reason. */
export function incompleteness(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if (error instanceof StatementError && error.code === incompleteState) return error.message
  return error.cause === error ? null : incompleteness(error.cause)
}

/**
 * SQLSTATEs of a lost or cancelled session (a frozen holder of a lock, a restart, a failover, a time-out), or of a server that
 * lacks a resource (a full disk, memory). The statement itself is correct.
 */
const transientStates = /^(08...|53...|58...|57P0[1-5]|57014|25P03|55P03|40001|40P01|25006|R000[12])$/
const transientCodes = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

export function isTransient(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  if (error instanceof ConnectionRefusal || isOutdatedPlan(error) || isEndOfSession(error)) return true
  const { code, syscall, cause, errors } = error as Readonly<Record<string, unknown>>
  if (typeof code === 'string' && (transientCodes.has(code) || transientStates.test(code))) return true
  // For whatever reason: the socket of the server does not exist, or this process has no descriptor left.
  if (syscall === 'connect') return true
  if (Array.isArray(errors) && errors.some(isTransient)) return true
  return cause !== undefined && cause !== error && isTransient(cause)
}

/** The problem of the server, for its operator. Without the server's message, which may contain names of files. */
const outages: readonly (readonly [RegExp, string])[] = [
  [/^25006$/, 'the database is read-only'],
  [/^R0002$/, 'a pooler in front of the database does not give each connection a session of its own'],
  [/^53100$/, 'the disk of the database is full'],
  [/^53200$/, 'the database is out of memory'],
  [/^53300$/, 'every connection to the database is in use'],
  [/^28/, 'the database refuses the user or the password of DATABASE_URL'],
  [/^3D000$/, 'the database of DATABASE_URL does not exist'],
  [/^58/, 'the database cannot read or write its files'],
  [/^(57014|55P03|25P03|40001|40P01)$/, 'the database did not get to it in time'],
]

/** Describes a transient failure in a clause. */
export function describeOutage(error: unknown): string {
  if (isOutdatedPlan(error)) return 'the tables have just been upgraded'
  const missing = incompleteness(error)
  if (missing !== null) return missing
  const code = codesOf(error).find((one) => outages.some(([pattern]) => pattern.test(one))) ?? ''
  return outages.find(([pattern]) => pattern.test(code))?.[1] ?? 'the database cannot be reached'
}

function codesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return []
  const { code, cause } = error as Readonly<Record<string, unknown>>
  return [...(typeof code === 'string' ? [code] : []), ...(cause === error ? [] : codesOf(cause))]
}

/** The server ended the session, or refused it: no statement caused that. */
function isEndOfSession(error: object): boolean {
  return 'severity' in error && (error.severity === 'FATAL' || error.severity === 'PANIC')
}

/** "cached plan must not change result type": a newer version has added a column since this connection prepared the statement. */
export function isOutdatedPlan(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    ('routine' in error && error.routine === 'RevalidateCachedQuery') ||
    (error.cause !== error && isOutdatedPlan(error.cause))
  )
}
