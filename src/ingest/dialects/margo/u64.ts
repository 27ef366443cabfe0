import { compareDigits, type Digits } from '../../../domain/values.ts'
import { shown } from '../../../platform/body/problems.ts'

const largest: Digits = '18446744073709551615'

/**
 * An unsigned 64-bit integer with all its digits. Tolerance: a string of digits, because agents whose JSON has only doubles send that.
 * Null: it is not such an integer, or its digits are lost already (a double beyond 2^53, which parseJson returns only for exponents and fractions).
 */
export function readU64(value: unknown): Digits | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? String(value) : null
  if (typeof value === 'bigint') return inRange(String(value))
  return typeof value === 'string' ? inRange(value.replace(/^0+(?=\d)/, '')) : null
}

export function u64Problem(value: unknown, smallest: 0 | 1): string {
  return `must be a whole number from ${smallest} to ${largest}, as a number or a string of digits, but is ${shown(value)}`
}

function inRange(text: string): Digits | null {
  return /^\d{1,20}$/.test(text) && compareDigits(text, largest) <= 0 ? text : null
}
