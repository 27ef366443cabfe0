/**
 * The limits of this server. A refusal names the limit, its value and what the client can do.
 * All listeners share one instance, so a limit is the same on every transport and is counted in one place.
 */
import { DomainError, type ErrorCode } from '../../domain/errors.ts'

/** Error responses (`limit`) and metric labels contain these names. */
export const limitNames = [
  'documentSize',
  'tokens',
  'nesting',
  'depth',
  'aliases',
  'directives',
  'fragments',
  'cost',
  'rows',
  'answerSize',
  'parts',
  'errors',
  'variableDepth',
  'variableSize',
  'time',
  'bodySize',
  'messageSize',
  'operationsPerSocket',
  'unread',
  'streams',
  'requestsPerAddress',
  'requestsPerDevice',
  'audits',
  'unlistedDocument',
  'slowRequest',
  'bufferedBytes',
  'gitProcesses',
] as const
export type LimitName = (typeof limitNames)[number]

export interface OperationLimits {
  /** Levels of nested fields. */
  readonly depth: number
  /** Values that a response may contain, estimated before execution. */
  readonly cost: number
  /** Milliseconds that a query, or one event of a subscription, may take. */
  readonly time: number
}

/** Request rates. Null: no limit. */
interface Rates {
  /** Requests a second, of one device and of one address. */
  readonly device: number | null
  readonly address: number | null
}

export interface GitLimits {
  /** Concurrent processes. */
  readonly processes: number
  /** Milliseconds: `time` for one process, `waiting` for a free slot. */
  readonly time: number
  readonly waiting: number
}

export interface LimitsConfig {
  readonly operation: OperationLimits
  readonly rates: Rates
  /** Concurrent WebSockets and event streams of one caller. Null: no limit. */
  readonly streams: number | null
  readonly git: GitLimits
  /** Bytes of request bodies in memory at once, and of responses that are not read. */
  readonly buffered: number
}

export const defaultLimits: LimitsConfig = {
  operation: { depth: 20, cost: 500_000, time: 15_000 },
  rates: { device: null, address: null },
  streams: null,
  git: { processes: 8, time: 120_000, waiting: 15_000 },
  buffered: 256 << 20,
}

/** Counts the refusal and returns the error to throw. */
export type Refuse = (limit: LimitName, message: string, facts?: Readonly<Record<string, unknown>>) => DomainError

export type ObserveRefusal = (limit: LimitName) => void

/** Limits that a later retry can satisfy. */
const temporary: ReadonlySet<LimitName> = new Set<LimitName>([
  'requestsPerAddress',
  'requestsPerDevice',
  'streams',
  'operationsPerSocket',
  'audits',
  'gitProcesses',
])

const otherCodes: Partial<Record<LimitName, ErrorCode>> = { time: 'TIMED_OUT', bufferedBytes: 'UNAVAILABLE' }

export function createRefuse(observe: ObserveRefusal = () => undefined): Refuse {
  return (limit, message, facts = {}) => {
    observe(limit)
    const code = temporary.has(limit) ? 'TOO_MANY' : (otherCodes[limit] ?? 'LIMIT_EXCEEDED')
    return new DomainError(code, message, { facts: { limit, ...facts } })
  }
}
