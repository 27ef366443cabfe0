/**
 * What anybody may ask of us, and what is said to who asks for more: which limit it was, how much it is, and what to do.
 * One of these is shared by everything that listens; so a limit is the same on every transport, and is counted in one place.
 */
import { DomainError, type ErrorCode } from '../domain/errors.ts'

/** Their names are in answers (`limit`) and in the metrics' labels. */
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
  /** Fields within fields. */
  readonly depth: number
  /** Values that an answer may hold, told before it is made. */
  readonly cost: number
  /** Milliseconds that a query, or one event of a subscription, may take. */
  readonly time: number
}

/** How often somebody may come; null: as often as he likes. */
export interface Rates {
  /** Requests a second, of one device and of one address. */
  readonly device: number | null
  readonly address: number | null
}

export interface GitLimits {
  /** At once. */
  readonly processes: number
  /** Milliseconds that one may last, and that somebody waits until there is room for his. */
  readonly time: number
  readonly waiting: number
}

export interface LimitsConfig {
  readonly operation: OperationLimits
  readonly rates: Rates
  /** WebSockets and event streams open at once, of one caller; null: any number. */
  readonly streams: number | null
  readonly git: GitLimits
  /** Bytes of requests' bodies that are held at once. */
  readonly buffered: number
}

export const defaultLimits: LimitsConfig = {
  operation: { depth: 20, cost: 500_000, time: 15_000 },
  rates: { device: null, address: null },
  streams: null,
  git: { processes: 8, time: 120_000, waiting: 15_000 },
  buffered: 256 << 20,
}

/** Counts, and says what to throw. */
export type Refuse = (limit: LimitName, message: string, facts?: Readonly<Record<string, unknown>>) => DomainError

export type ObserveRefusal = (limit: LimitName) => void

/** Those that time heals: come again. */
const passing: ReadonlySet<LimitName> = new Set<LimitName>([
  'requestsPerAddress',
  'requestsPerDevice',
  'streams',
  'operationsPerSocket',
  'audits',
  'gitProcesses',
])

const others: Partial<Record<LimitName, ErrorCode>> = { time: 'TIMED_OUT', bufferedBytes: 'UNAVAILABLE' }

export function createRefuse(observe: ObserveRefusal = () => undefined): Refuse {
  return (limit, message, facts = {}) => {
    observe(limit)
    const code = passing.has(limit) ? 'TOO_MANY' : (others[limit] ?? 'LIMIT_EXCEEDED')
    return new DomainError(code, message, { facts: { limit, ...facts } })
  }
}
