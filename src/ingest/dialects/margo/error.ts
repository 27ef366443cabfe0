import type { StatusError } from '../../../domain/values.ts'
import { type Body, complain, isAbsent, isObject, type Problems, shown } from '../../../platform/body/problems.ts'
import { textProblem } from '../../../platform/body/text.ts'

const longestCode = 1024
const longestMessage = 64 * 1024
/**
 * Bytes of all errors of one report. Its changes are read from the log as a whole, so without this limit a reader would hold a body's
 * megabyte of messages for each report. The longest error fits in any script (270,336 bytes with its source), or 327 bytes for each of a
 * thousand components.
 */
const mostBytes = 320 << 10

/** The error of a deployment or a component. Null: there is none, or it has problems. */
export function readError(problems: Problems, where: string, error: unknown): StatusError | null {
  if (isAbsent(error)) return null
  if (!isObject(error)) {
    complain(problems, where, `must be an object with code and message, but is ${shown(error)}`)
    return null
  }
  const code = readPart(problems, where, 'code', numericCode(error.code), longestCode)
  const message = readPart(problems, where, 'message', misspeltMessage(error), longestMessage)
  const source = readPart(problems, where, 'source', error.source, longestCode)
  if (isEmptyError(code, message)) return null
  return source === '' ? { code, message } : { code, message, source }
}

/** Complains about the error by which all errors of a report become too large. `errors` have their fields, in the order of the report. */
export function requireSmall(problems: Problems, errors: Iterable<readonly [field: string, error: StatusError]>): void {
  let size = 0
  for (const [field, { code, message, source = '' }] of errors) {
    size += Buffer.byteLength(code) + Buffer.byteLength(message) + Buffer.byteLength(source)
    if (size <= mostBytes) continue
    const limit = `must have at most ${mostBytes} bytes together with the errors before it`
    complain(problems, field, `${limit}, but they have ${size}`)
    return
  }
}

/** Tolerance: some agents send numeric codes as numbers, although the specification says string. */
function numericCode(code: unknown): unknown {
  return typeof code === 'number' || typeof code === 'bigint' ? String(code) : code
}

/** Tolerance: the specification's own example has the key "message " (2024-09), and the proposal's fourth one has `Error` (2024-06). */
function misspeltMessage(error: Body): unknown {
  return error.message ?? error['message '] ?? error.Error
}

/** Tolerance: the specification's examples contain an empty error where there is no error. */
function isEmptyError(code: string, message: string): boolean {
  return code === '' && message === ''
}

function readPart(problems: Problems, where: string, name: string, value: unknown, longest: number): string {
  if (isAbsent(value) || value === '') return ''
  const problem = typeof value === 'string' ? textProblem(value, longest) : `must be a string, but is ${shown(value)}`
  if (problem !== null) complain(problems, `${where}.${name}`, problem)
  return problem === null && typeof value === 'string' ? value : ''
}
