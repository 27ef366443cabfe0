/**
 * Bounds what all readers of this process hold at once. One of them may hold 32 Mi characters (reading.ts), and eight connections answer at once: with two
 * bytes a character that is a heap of 512 MiB. Beyond the bound, a reader that holds more than a part is refused, and retries. To let it wait was rejected:
 * readers that hold texts would wait for each other.
 */
import { getHeapStatistics } from 'node:v8'
import { DomainError } from '../../domain/errors.ts'
import { mostCharacters } from './reading.ts'

export interface HeldTexts {
  /** Of one answer of the database, or of one operation. */
  hold(): Hold
}

export interface Hold {
  /** False: this reader holds more than a part, and all together too much. */
  add(characters: number): boolean
  /** What it adds later does not count: it is not kept. */
  release(): void
}

/** Characters. A part of 1 MiB, and the row that exceeds it, are never refused. */
const neverRefused = 6 << 20

export function createHeldTexts(most: number): HeldTexts {
  let all = 0
  return {
    hold() {
      let own = 0
      let isReleased = false
      return {
        add(characters) {
          if (isReleased) return true
          own += characters
          all += characters
          return own <= neverRefused || all <= most
        },
        release() {
          if (!isReleased) all -= own
          isReleased = true
        },
      }
    },
  }
}

export function tooManyTexts(): DomainError {
  const message = 'the operations of this server read too many stored texts at once: retry, or request fewer rows'
  return new DomainError('UNAVAILABLE', message, { facts: { limit: 'bufferedBytes', retryAfterSeconds: 2 } })
}

/** A quarter of the heap at two bytes a character, and at least two of the largest readers. */
export const heldTexts = createHeldTexts(Math.max(2 * mostCharacters, getHeapStatistics().heap_size_limit / 8))
