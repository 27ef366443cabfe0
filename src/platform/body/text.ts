import { hasUnseen, isStorable } from '../../domain/text.ts'
import { complain, type Problems, shown } from './problems.ts'

/** docs/wire.md §7.5. Counts characters, not UTF-16 units: an ID of 256 emoji has 256 characters. */
export const longestId = 256

/** Of an address. Those with a signature or a token in them are longer than an ID. */
export const longestUrl = 2_048

/** The problem of an ID or a name. Null: it is valid. */
export function idProblem(value: unknown): string | null {
  return filledTextProblem(value, longestId)
}

export function urlProblem(value: unknown): string | null {
  return filledTextProblem(value, longestUrl)
}

function filledTextProblem(value: unknown, longest: number): string | null {
  if (typeof value !== 'string') return `must be a string that is not empty, but is ${shown(value)}`
  if (value === '') return 'must not be empty'
  return textProblem(value, longest)
}

/**
 * The problem of a device's ID, wherever it names a device. Null: it is valid. Two ids that look the same would be two devices. The
 * specification's form of ids in bodies is narrower.
 */
export function deviceIdProblem(value: unknown): string | null {
  const problem = idProblem(value)
  if (problem !== null || typeof value !== 'string' || !hasUnseen(value)) return problem
  return 'must not begin or end with white space, and must not contain control characters'
}

/** Why a text cannot be stored. Null: it can. */
export function textProblem(text: string, longest: number): string | null {
  if (isLonger(text, longest)) return `must have at most ${longest} characters`
  if (isStorable(text)) return null
  if (text.includes('\0')) return 'must not contain the character NUL (U+0000), which the database cannot store'
  return 'must not contain half of a surrogate pair, or bytes that are not UTF-8, which are no characters'
}

const ofDevices: ReadonlySet<string> = new Set(['deviceId', 'clientId', 'reporter'])

export function readId(
  problems: Problems,
  field: string,
  value: unknown,
  problemOf = ofDevices.has(field) ? deviceIdProblem : idProblem,
): string | null {
  const problem = problemOf(value)
  if (problem !== null) complain(problems, field, problem)
  return problem === null && typeof value === 'string' ? value : null
}

function isLonger(text: string, longest: number): boolean {
  if (text.length <= longest) return false
  return text.length > longest * 2 || Array.from(text).length > longest
}
