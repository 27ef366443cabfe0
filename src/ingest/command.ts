import type { Deviation } from '../domain/deviation.ts'
import type { StatusReport } from '../domain/report.ts'
import type { Paced } from '../platform/limits/pace.ts'
import type { Proof } from '../store/signature-claims.ts'
import type { Statement } from '../store/write/contract.ts'
import type { Needs } from '../store/write/needs.ts'
import type { UnitOfWork } from './unit-of-work/unit-of-work.ts'

/**
 * One write. It is decided under the lock or, while no other server writes, on cached rows. It may be decided more than once. `decide`
 * must not throw a DomainError after it has changed the unit of work. A command of thousands of items decides in steps, between which the
 * server does other work.
 */
export interface Command<Result> {
  readonly needs: Needs
  decide(work: UnitOfWork): Result | Paced<Result>
  /** Further statements of the same transaction, for rows outside the unit of work (tokens). */
  statements?(result: Result): readonly Statement[]
  /** Of commands that must not be written after one before them that could not be. */
  readonly series?: Series
  /** The signed message that requested it. The same transaction writes the command and marks the message as used. */
  readonly proof?: Proof
  /** The W3C trace context of the request, for the changes that the command makes. It does not affect what is decided. */
  readonly traceparent?: string
  /** The command in serialized form, for another server. Absent: only this server can execute it. */
  readonly portable?: Portable
  /** Writes a command of many items in parts. It may run again from its beginning. Present: `needs` and `decide` are not used. */
  readonly divided?: (write: WritePart) => Promise<Result>
  /** The same, for a command of few items. It is used if their rows are too large to be in memory at once. */
  readonly ifTooLarge?: (write: WritePart) => Promise<Result>
}

/** Commands of one caller, in their order, such as the reports of a backlog. */
export interface Series {
  /** One of them could not be written now: its caller sends them again. */
  isBroken: boolean
}

/** Loads, decides and saves a part, in the transaction of the whole command. */
export type WritePart = <Part>(part: Command<Part>) => Promise<Part>

/** A command that decides at once. */
export interface SmallCommand<Result> extends Command<Result> {
  decide(work: UnitOfWork): Result
}

/** JSON. A server of another version may read it: a new kind needs a new name for the inbox (writer-state.ts). */
export type Portable = (
  | {
      readonly kind: 'report'
      readonly report: StatusReport
      readonly caller: string | null
      readonly deviations: readonly Deviation[]
    }
  | { readonly kind: 'hear'; readonly names: readonly string[] }
  | { readonly kind: 'countDeviations'; readonly device: string; readonly deviations: readonly Deviation[] }
) & { readonly proof?: Proof; readonly traceparent?: string }

export function traced<Result>(command: Command<Result>, traceparent: string | null): Command<Result> {
  if (traceparent === null) return command
  const { portable, divided, ifTooLarge } = command
  const tracedParts =
    (parts: (write: WritePart) => Promise<Result>) =>
    (write: WritePart): Promise<Result> =>
      parts((part) => write(traced(part, traceparent)))
  return {
    ...command,
    traceparent,
    ...(portable && { portable: { ...portable, traceparent } }),
    ...(divided && { divided: tracedParts(divided) }),
    ...(ifTooLarge && { ifTooLarge: tracedParts(ifTooLarge) }),
  }
}

/** Writes the command and marks its signed message as used: both or neither. */
export function spending<Result>(command: Command<Result>, proof: Proof | null): Command<Result> {
  if (!proof) return command
  return { ...command, proof, ...(command.portable && { portable: { ...command.portable, proof } }) }
}
