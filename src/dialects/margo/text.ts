import { isStorable } from '../../domain/text.ts'
import { complain, type Problems, shown } from './problems.ts'

/** docs/wire.md §7.5. Characters, not UTF-16 units: an id of 256 emoji is one of 256. */
export const longestId = 256

/** What is wrong with an id or a name; null: nothing. */
export function idProblem(value: unknown): string | null {
  if (typeof value !== 'string') return `must be a string that is not empty, but is ${shown(value)}`
  if (value === '') return 'must not be empty'
  return textProblem(value, longestId)
}

const unseen = /^\s|\s$|\p{Cc}/u

/**
 * What is wrong with the id of a device, in a path and where it is registered; null: nothing. Two ids that look the same would be two devices, so
 * white space at an end (U+FEFF is white space) and control characters are refused. The specification's form of ids in bodies is narrower.
 */
export function deviceIdProblem(value: unknown): string | null {
  const problem = idProblem(value)
  if (problem !== null || typeof value !== 'string' || !unseen.test(value)) return problem
  return 'must not begin or end with white space, and must not contain control characters'
}

/** What keeps a text from being stored; null: nothing. */
export function textProblem(text: string, longest: number): string | null {
  if (isLonger(text, longest)) return `must have at most ${longest} characters`
  if (isStorable(text)) return null
  if (text.includes('\0')) return 'must not contain the character NUL (U+0000), which the database cannot hold'
  return 'must not contain half of a surrogate pair, which is no character'
}

export function readId(problems: Problems, field: string, value: unknown): string | null {
  const problem = field === 'deviceId' || field === 'clientId' ? deviceIdProblem(value) : idProblem(value)
  if (problem !== null) complain(problems, field, problem)
  return problem === null && typeof value === 'string' ? value : null
}

function isLonger(text: string, longest: number): boolean {
  if (text.length <= longest) return false
  return text.length > longest * 2 || Array.from(text).length > longest
}
