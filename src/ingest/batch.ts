/** The commands of a batch: what waits for their answers, what they decide, and telling it to them. */
import { DomainError, type ErrorCode } from '../domain/errors.ts'
import { describeOutage } from '../store/connection/failure.ts'
import type { Effects, Loaded, Statement } from '../store/write/contract.ts'
import type { LockedHead } from '../store/write/load.ts'
import { type BatchName, stampOf } from '../store/write/save.ts'
import type { Command } from './command.ts'
import type { UnitOfWork } from './unit-of-work.ts'

export interface Waiting {
  readonly command: Command<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

export type Outcome =
  | { readonly ok: unknown }
  | { readonly refused: ErrorCode; readonly message: string; readonly more: Pick<DomainError, 'problems' | 'facts'> }

export interface Decided {
  readonly outcomes: readonly Outcome[]
  readonly also: readonly Statement[]
  readonly effects: Effects
}

export function decideBatch(batch: readonly Waiting[], work: UnitOfWork): Decided {
  const outcomes = batch.map(({ command }) => decide(command, work))
  const also = batch.flatMap(({ command }, index) => {
    const outcome = outcomes[index]
    return outcome && 'ok' in outcome ? (command.also?.(outcome.ok) ?? []) : []
  })
  return { outcomes, also, effects: work.effects() }
}

export function settle(batch: readonly Waiting[], outcomes: readonly Outcome[]): void {
  batch.forEach((waiting, index) => {
    const outcome = outcomes[index]
    if (!outcome) waiting.reject(new Error('a batch answered fewer commands than it had'))
    else if ('ok' in outcome) waiting.resolve(outcome.ok)
    else waiting.reject(new DomainError(outcome.refused, outcome.message, outcome.more))
  })
}

export function fail(batch: readonly Waiting[], error: unknown): void {
  for (const waiting of batch) waiting.reject(error)
}

export function headAfter({ writes }: LockedHead, { revision, at, nextKey }: Effects, name: BatchName): LockedHead {
  return { revision, at, nextKey, writes: writes + 1, stamp: stampOf(name) }
}

function decide(command: Command<unknown>, work: UnitOfWork): Outcome {
  try {
    return { ok: command.decide(work) }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const { code, message, problems, facts } = error
    return { refused: code, message, more: { problems, facts } }
  }
}

/** What was remembered and what was read may name the same rows: the world keeps the last, and both are the same. */
export function joinLoaded(a: Loaded, b: Loaded): Loaded {
  return {
    deployments: [...a.deployments, ...b.deployments],
    targets: [...a.targets, ...b.targets],
    rollouts: [...a.rollouts, ...b.rollouts],
    ...(b.identities && { identities: b.identities }),
    ...(b.orchestration && { orchestration: b.orchestration }),
    ...(b.desired && { desired: b.desired }),
  }
}

export function unreachable(cause?: unknown): DomainError {
  return unavailable(describeOutage(cause), cause)
}

export function unavailable(reason: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', `${reason}: report again later`, { cause })
}
