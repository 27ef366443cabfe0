/** Reads the parameters of an export. Every error names its parameter. */
import { DomainError, type FieldProblem } from '../../domain/errors.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { parseRevision } from '../../store/sql/cursor.ts'
import { parseDateTime } from '../graphql/objects/scalars.ts'
import { searchOf } from '../rest/exchange.ts'

/** The parameters, each given at most once. */
export type Query = ReadonlyMap<string, string>

/** Those of every kind. */
const common = ['format', 'after'] as const

/** Reads the value of a parameter. Throws BAD_USER_INPUT that names it. */
export type ReadValue = (query: Query, name: string) => unknown

/** Throws BAD_USER_INPUT that names all parameters that are unknown, repeated, or have a value that `values` cannot read. */
export function readQuery(
  url: string,
  accepted: readonly string[],
  values: Readonly<Record<string, ReadValue>> = {},
): Query {
  const given = new URLSearchParams(searchOf(url))
  const known = [...common, ...accepted]
  const problems: FieldProblem[] = []
  for (const name of new Set(given.keys()))
    if (!known.includes(name))
      problems.push({ field: name, message: `${name} is not a parameter of this export: use ${known.join(', ')}` })
    else if (given.getAll(name).length > 1) problems.push({ field: name, message: `${name} is given more than once` })
  const query = new Map([...given].filter(([, value]) => value !== ''))
  for (const name of query.keys())
    if (!problems.some(({ field }) => field === name)) problems.push(...problemsOf(() => values[name]?.(query, name)))
  if (problems.length > 0)
    throw new DomainError('BAD_USER_INPUT', problems.map(({ message }) => message).join('; '), { problems })
  return query
}

function problemsOf(read: () => unknown): readonly FieldProblem[] {
  try {
    read()
    return []
  } catch (error) {
    if (error instanceof DomainError && error.problems.length > 0) return error.problems
    throw error
  }
}

export function refused(field: string, problem: string): DomainError {
  const message = `${field} ${problem}`
  return new DomainError('BAD_USER_INPUT', message, { problems: [{ field, message }] })
}

export function timeIn(query: Query, name: string): Millis | null {
  const text = query.get(name)
  if (text === undefined) return null
  try {
    return parseDateTime(text)
  } catch (error) {
    throw refused(name, `is not a time: ${error instanceof Error ? error.message : ''}`)
  }
}

/** Null: none is given, or `begin`. */
export function beginningIn(query: Query, name: string): Revision | null {
  const text = query.get(name)
  return text === undefined || text === 'begin' ? null : parseRevision(text, name, ', or begin')
}

export const valuesOfBounds: Readonly<Record<string, ReadValue>> = {
  asOf: timeIn,
  since: timeIn,
  before: timeIn,
  atRevision: (query, name) => parseRevision(query.get(name) ?? '', name),
  afterRevision: beginningIn,
}

/** The parts of a cursor, which are whole numbers. Throws if there are not as many. */
export function cursorNumbers(cursor: string, parts: number, name = 'after'): readonly number[] {
  const numbers = cursor.split('.').map((part) => (/^\d{1,16}$/.test(part) ? Number(part) : Number.NaN))
  if (numbers.length === parts && numbers.every(Number.isSafeInteger)) return numbers
  throw refused(name, 'is not a cursor of this export')
}

/** Those of the parameters that are given, as they are. */
export function givenIn(query: Query, names: readonly string[]): Readonly<Record<string, string>> {
  const given: Record<string, string> = {}
  for (const name of names) {
    const value = query.get(name)
    if (value !== undefined) given[name] = value
  }
  return given
}
