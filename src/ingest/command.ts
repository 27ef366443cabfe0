import type { Needs, Statement } from '../store/write/contract.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/**
 * One write, decided under the lock, or on what is true if nobody else writes: perhaps more than once. `decide` throws a DomainError
 * before it changes anything in the world, or not at all.
 */
export interface Command<Result> {
  readonly needs: Needs
  decide(work: UnitOfWork): Result
  /** Further statements of the same transaction, for what is not part of the world (tokens). */
  also?(result: Result): readonly Statement[]
}
