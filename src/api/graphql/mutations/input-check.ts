/** Collects all problems of an input with their paths, instead of stopping at the first. */
import { deviceIdProblem, longestUrl } from '../../../platform/body/text.ts'
import { maxListSize } from './input.ts'
import type { InputProblem } from './user-error.ts'

const maxIdLength = 256

type Path = readonly (string | number)[]

export interface InputCheck {
  readonly problems: readonly InputProblem[]
  add(path: Path, message: string): void
  /** 1 to 256 characters that can be stored. Absent values pass. */
  name(path: Path, value: string | null | undefined): void
  /** Like `name`, without what makes two IDs look the same. The paths of a device's reports have the same rule. */
  deviceId(path: Path, value: string | null | undefined): void
  /** Like `name`, but may be empty. `longest`: characters, if not 256. */
  text(path: Path, value: string | null | undefined, longest?: number): void
  /** Like `name`, but may be longer. */
  url(path: Path, value: string | null | undefined): void
  /** False: the list is too long, so its elements should not be checked. */
  list(path: Path, value: readonly unknown[] | null | undefined): boolean
  unique(paths: readonly Path[], values: readonly string[], message: string): void
}

export function checkInput(): InputCheck {
  const problems: InputProblem[] = []
  const add = (path: Path, message: string): void => void problems.push({ path: path.map(String), message })
  const text = (path: Path, value: string | null | undefined, longest = maxIdLength): void => {
    if (typeof value !== 'string') return
    if (characters(value) > longest) add(path, `must have at most ${longest} characters`)
    // PostgreSQL cannot store NUL, and UTF-8 cannot encode an unpaired surrogate.
    if (value.includes('\0') || !value.isWellFormed()) add(path, 'must not contain NUL or an unpaired surrogate')
  }
  const filled = (path: Path, value: string | null | undefined, longest: number): void => {
    if (value === '') add(path, 'must not be empty')
    else text(path, value, longest)
  }
  const name = (path: Path, value: string | null | undefined): void => filled(path, value, maxIdLength)
  return {
    problems,
    add,
    text,
    name,
    url: (path, value) => filled(path, value, longestUrl),
    deviceId(path, value) {
      const known = problems.length
      name(path, value)
      const problem = typeof value === 'string' && problems.length === known ? deviceIdProblem(value) : null
      if (problem !== null) add(path, problem)
    },
    list(path, value) {
      if (!value || value.length <= maxListSize) return true
      add(path, `must have at most ${maxListSize} elements, but has ${value.length}`)
      return false
    },
    unique(paths, values, message) {
      const seen = new Set<string>()
      values.forEach((value, index) => {
        if (seen.has(value)) add(paths[index] ?? [], message)
        seen.add(value)
      })
    },
  }
}

/** Counts code points: an emoji outside the basic plane counts as one character. */
function characters(text: string): number {
  return text.length <= maxIdLength ? text.length : Array.from(text).length
}
