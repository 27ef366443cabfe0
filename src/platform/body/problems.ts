import { DomainError, type FieldProblem } from '../../domain/errors.ts'

/** All problems of one body, so that the refusal names every one. Most bodies have none, so the first problem creates the list. */
export interface Problems {
  list: FieldProblem[] | null
}

/** In one body. A message is longer than the field it describes; the limit keeps the answer smaller than the request. */
const mostProblems = 100

export function complain(problems: Problems, field: string, message: string): void {
  problems.list ??= []
  if (problems.list.length < mostProblems) problems.list.push({ field, message })
}

/** The `message` of a problem continues its field: "status.state" "must be one of …". */
export function refusal(list: readonly FieldProblem[], subject = 'The report'): DomainError {
  const named = list.slice(0, 3).map((problem) => `${problem.field} ${problem.message}`)
  const more = list.length > named.length ? ` (and ${list.length - named.length} more)` : ''
  return new DomainError('SEMANTIC_ERROR', `${subject} is refused: ${named.join('; ')}${more}.`, { problems: list })
}

/** The present value of a field, short enough for a sentence. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value).slice(0, 60)
}

/** A JSON object. The code reads only keys that no prototype has, so `__proto__` and similar keys have no effect. */
export type Body = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Tolerance: many serialisers write null for an optional field that is not set. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}
