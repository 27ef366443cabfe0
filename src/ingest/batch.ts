/** A batch: commands that wait for their answers, their decisions, and the answers. */
import { DomainError, type ErrorCode } from '../domain/errors.ts'
import { type Paced, stepsOf } from '../platform/limits/pace.ts'
import { describeOutage } from '../store/connection/failure.ts'
import type { Proof } from '../store/signature-claims.ts'
import { stampOf } from '../store/write/batches.ts'
import type { BatchName, DecidedBatch, Effects, HandedAnswer, Loaded, Statement } from '../store/write/contract.ts'
import type { LockedHead } from '../store/write/load/load.ts'
import type { Needs } from '../store/write/needs.ts'
import { sortProofs } from '../store/write/tokens.ts'
import type { Command } from './command.ts'
import type { UnitOfWork } from './unit-of-work/unit-of-work.ts'

export interface Waiting {
  readonly command: Command<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Commands that another server handed over (servers/hand-over.ts). They are written together or not at all. */
export interface HandedBatch {
  readonly name: BatchName
  readonly commands: readonly Command<unknown>[]
}

export interface Batch {
  readonly waiting: readonly Waiting[]
  readonly handed: readonly HandedBatch[]
}

export type Outcome =
  | { readonly ok: unknown }
  | { readonly refused: ErrorCode; readonly message: string; readonly more: Pick<DomainError, 'problems' | 'facts'> }

export interface Decided extends DecidedBatch {
  /** The number of commands of this server. */
  readonly outcomes: readonly Outcome[]
}

/**
 * The next commands of the queue. A divided command has a batch of its own; `mayBeDivided`: nothing else is in this batch.
 */
export function takeNext(queue: Waiting[], limit: number, mayBeDivided: boolean): Waiting[] {
  const next = queue.slice(0, limit).findIndex(({ command: { divided } }) => divided)
  if (next === 0) return mayBeDivided ? queue.splice(0, 1) : []
  return queue.splice(0, next > 0 ? next : limit)
}

export function isDivided({ waiting }: Pick<Batch, 'waiting'>): boolean {
  return waiting.some(({ command }) => command.divided)
}

export function sizeOf({ waiting, handed }: Batch): number {
  return handed.reduce((size, { commands }) => size + commands.length, waiting.length)
}

export function needsOf({ waiting, handed }: Batch): Needs[] {
  const own = waiting.map(({ command }) => command.needs)
  return handed.length === 0 ? own : [...own, ...handed.flatMap(({ commands }) => commands.map(({ needs }) => needs))]
}

export function* decideBatch({ waiting, handed }: Batch, work: UnitOfWork): Paced<Decided> {
  const further: FurtherWrites = { statements: [], spent: new Map() }
  const outcomes = yield* decideAll(
    waiting.map(({ command }) => command),
    work,
    further,
  )
  const answers: HandedAnswer[] = []
  for (const { name, commands } of handed) answers.push({ name, outcomes: yield* decideAll(commands, work, further) })
  const { statements, spent } = further
  return { outcomes, answers, statements, spent: sortProofs([...spent.values()]), effects: work.effects() }
}

/** What the commands of a batch write beside the effects of its unit of work. */
interface FurtherWrites {
  readonly statements: Statement[]
  readonly spent: Map<string, Proof>
}

/**
 * Not a function within `decideBatch`: V8 creates an old object for each new generator function, which holds its context. So every batch would stay
 * in memory until the next full garbage collection.
 */
function* decideAll(
  commands: Iterable<Command<unknown>>,
  work: UnitOfWork,
  { statements, spent }: FurtherWrites,
): Paced<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const command of commands) {
    work.trace(command.traceparent ?? null)
    const outcome = yield* decide(command, work)
    outcomes.push(outcome)
    if ('ok' in outcome) {
      if (command.statements) for (const statement of command.statements(outcome.ok)) statements.push(statement)
      if (command.proof) spent.set(command.proof.id, command.proof)
    }
    yield
  }
  return outcomes
}

export function settle(waiting: readonly Waiting[], outcomes: readonly Outcome[]): void {
  waiting.forEach(({ resolve, reject }, index) => {
    const outcome = outcomes[index]
    if (!outcome) reject(new Error('a batch answered fewer commands than it had'))
    else if ('ok' in outcome) resolve(outcome.ok)
    else reject(new DomainError(outcome.refused, outcome.message, outcome.more))
  })
}

/** Commands of other servers get no answer: their server settles them after a while. */
export function fail({ waiting }: Pick<Batch, 'waiting'>, error: unknown): void {
  const isPassing = error instanceof DomainError && error.code === 'UNAVAILABLE'
  for (const { command, reject } of waiting) {
    if (command.series && isPassing) command.series.isBroken = true
    reject(error)
  }
}

/** Those that may be written. A later report that is written before the ones that its device sends again would make these stale, so it fails with them. */
export function withoutBroken(waiting: readonly Waiting[]): Waiting[] {
  const isBroken = ({ command: { series } }: Waiting): boolean => series?.isBroken ?? false
  fail({ waiting: waiting.filter(isBroken) }, unavailable('a report before this one could not be written'))
  return waiting.filter((each) => !isBroken(each))
}

export function headAfter({ writes }: LockedHead, { revision, at, nextKey }: Effects, name: BatchName): LockedHead {
  return { revision, at, nextKey, writes: writes + 1, stamp: stampOf(name) }
}

function* decide(command: Command<unknown>, work: UnitOfWork): Paced<Outcome> {
  try {
    return { ok: yield* stepsOf(command.decide(work)) }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const { code, message, problems, facts } = error
    return { refused: code, message, more: { problems, facts } }
  }
}

/** A cached row and a row that was read may have the same key. Both are then equal, and the unit of work keeps the last. */
export function joinLoaded(a: Loaded, b: Loaded): Loaded {
  return {
    ...a,
    ...b,
    deployments: [...a.deployments, ...b.deployments],
    targets: [...a.targets, ...b.targets],
    rollouts: [...a.rollouts, ...b.rollouts],
  }
}

export function unreachable(cause?: unknown): DomainError {
  return unavailable(describeOutage(cause), cause)
}

export function unavailable(reason: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', `${reason}: report again later`, { cause })
}
