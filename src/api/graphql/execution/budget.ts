/** The size budget of one response. Execution charges actual data to it, not the document's worst case. */
import { DomainError } from '../../../domain/errors.ts'
import type { LimitName, Refuse } from '../../../platform/limits/limits.ts'
import { mostCharacters, tooMuchText } from '../../../store/connection/reading.ts'
import { maxAnswerSize, maxErrors, maxParts, maxRows } from '../guards/limits.ts'

export interface Budget {
  /** Rows of all lists. Throws the error for the caller, as the next two do. */
  rows(count: number): void
  /** Characters of values, as JSON. */
  characters(count: number): void
  /** Characters that are about to be read, if known in advance. */
  expect(count: number): void
  /** Characters of stored texts that were read. What is read is held until the response is made. */
  read(count: number): void
  /** The error of a statement. If all operations hold too many texts together (held-texts.ts), it replaces the whole response. */
  unavailable(error: unknown): unknown
  /** Fragments and lists that are sent later (`@defer`, `@stream`). */
  parts(count: number): void
  /** A field failed. */
  failed(): void
  /** The error that replaces the whole response. Null: the budget was not exceeded. */
  excess(): DomainError | null
}

const messages = {
  rows: `the response has more than ${maxRows} rows: request fewer per query`,
  answerSize: `the response has more than ${maxAnswerSize} characters: request less per query`,
  parts: `the response has more than ${maxParts} parts: use @defer and @stream for fewer objects`,
  errors: `more than ${maxErrors} fields of the response failed: request fewer to see the reasons`,
} satisfies Partial<Record<LimitName, string>>

export function createBudget(refuse: Refuse): Budget {
  let [rows, characters, expected, read, parts, errors] = [0, 0, 0, 0, 0, 0]
  let excess: DomainError | null = null

  function exceed(limit: keyof typeof messages, max: number): DomainError {
    excess ??= refuse(limit, `${messages[limit]}; committed changes remain`, { max })
    return excess
  }

  return {
    rows(count) {
      rows += count
      if (rows > maxRows) throw exceed('rows', maxRows)
    },
    characters(count) {
      characters += count
      if (characters > maxAnswerSize) throw exceed('answerSize', maxAnswerSize)
    },
    expect(count) {
      expected += count
      if (expected > maxAnswerSize) throw exceed('answerSize', maxAnswerSize)
    },
    read(count) {
      read += count
      if (read <= mostCharacters) return
      excess ??= refuse('answerSize', `${tooMuchText().message}; committed changes remain`, { max: mostCharacters })
      throw excess
    },
    parts(count) {
      parts += count
      if (parts > maxParts) throw exceed('parts', maxParts)
    },
    unavailable(error) {
      if (!(error instanceof DomainError) || error.facts.limit !== 'bufferedBytes') return error
      excess ??= refuse('bufferedBytes', `${error.message}; committed changes remain`, error.facts)
      return excess
    },
    failed() {
      errors += 1
      if (errors > maxErrors) exceed('errors', maxErrors)
    },
    excess: () => excess,
  }
}
