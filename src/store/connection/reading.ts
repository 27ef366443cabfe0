/**
 * Bounds what one statement of a reader returns. A row may have a megabyte of texts that a device has sent, so a number of rows bounds neither memory nor
 * the time of parsing. Readers that go through many rows take parts of bounded bytes (sql/parts.ts). This is the bound for all others, and for the
 * next reader: it gets an error, and the process does not run out of memory.
 */
import { DomainError } from '../../domain/errors.ts'
import { parsers, textTypes } from './column-parsers.ts'

/** Characters of texts and JSON in one answer. A page of a hundred rows fits, each with the longest error. */
export const mostCharacters = 32 << 20

export function tooMuchText(): DomainError {
  const message = `the stored texts that the request reads have more than ${mostCharacters} characters: request fewer rows`
  return new DomainError('LIMIT_EXCEEDED', message, { facts: { limit: 'answerSize', max: mostCharacters } })
}

/** The parsers of column-parsers.ts. `read` is called with the characters of each text. */
export function countingParsers(read: (characters: number) => void): typeof parsers {
  const counted = textTypes.map((type) => {
    const parse = parsers[type] ?? String
    const count = (text: string): unknown => {
      read(text.length)
      return parse(text)
    }
    return [type, count] as const
  })
  return { ...parsers, ...Object.fromEntries(counted) }
}

/** How many characters were read in each answer. */
const sizes = new WeakMap<readonly object[], number>()

export function noteCharacters(rows: readonly object[], characters: number): void {
  sizes.set(rows, characters)
}

/** Of texts and JSON in the rows of one answer. */
export function charactersOf(rows: readonly object[]): number {
  return sizes.get(rows) ?? 0
}
