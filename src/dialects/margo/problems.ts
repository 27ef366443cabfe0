import { DomainError, type FieldProblem } from '../../domain/errors.ts'

/** Everything wrong with one body, gathered so that a refusal names it all. Most bodies are right: no list is made before the first problem. */
export interface Problems {
  list: FieldProblem[] | null
}

/** Of one body. A message is longer than what it is about: an answer must not be larger than what it answers. */
const mostProblems = 100

export function complain(problems: Problems, field: string, message: string): void {
  problems.list ??= []
  if (problems.list.length < mostProblems) problems.list.push({ field, message })
}

/** `message` of a problem reads on from its field: "status.state" "must be one of …". */
export function refusal(list: readonly FieldProblem[], subject = 'The report'): DomainError {
  const named = list.slice(0, 3).map((problem) => `${problem.field} ${problem.message}`)
  const more = list.length > named.length ? ` (and ${list.length - named.length} more)` : ''
  return new DomainError('SEMANTIC_ERROR', `${subject} is refused: ${named.join('; ')}${more}.`, { problems: list })
}

/** What a field holds instead of what it should, short enough for a sentence. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value).slice(0, 60)
}

/** A JSON object. Only keys that no prototype has are ever read from one, so `__proto__` and its like mean nothing. */
export type Body = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Tolerance: many serialisers write an optional field that is not set as null. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}
