import { mostErrorBytes } from '../../../domain/report.ts'
import type { StatusError } from '../../../domain/values.ts'
import { type Body, isAbsent, isObject, shown } from '../../../platform/body/problems.ts'
import { cutToBytes, type KeptText, lengthOf, none, type Reading, readExplanation, warn } from './reading.ts'

export const longestCode = 1024
export const longestMessage = 64 * 1024

/** The error of a deployment or a component. Null: there is none. Of another value than an object, its text is the message. */
export function readError(reading: Reading, where: string, error: unknown): StatusError | null {
  if (isAbsent(error)) return null
  if (!isObject(error)) {
    warn(
      reading,
      'TEXT_ALTERED',
      where,
      `must be an object with code and message, but is ${shown(error)}: its text is kept`,
    )
    return kept([none, readExplanation(reading, () => where, error, longestMessage), none])
  }
  const part = (name: string, value: unknown, longest: number) =>
    readExplanation(reading, () => `${where}.${name}`, value, longest)
  return kept([
    part('code', numericCode(error.code), longestCode),
    part('message', misspeltMessage(error), longestMessage),
    part('source', error.source, longestCode),
  ])
}

/** Tolerance: the specification's examples contain an empty error where there is no error. */
function kept(parts: readonly [code: KeptText, message: KeptText, source: KeptText]): StatusError | null {
  const [{ text: code }, { text: message }, { text: source }] = parts
  if (code === '' && message === '') return null
  const isCut = parts.some(({ cutFrom }) => cutFrom !== null)
  const originalLength = () => parts.reduce((sum, { text, cutFrom }) => sum + (cutFrom ?? lengthOf(text)), 0)
  return { code, message, ...(source !== '' && { source }), ...(isCut && { originalLength: originalLength() }) }
}

/** The errors of one report, in its order, cut where all together are too large. `where`: the field and the name of the first that is cut. */
export function keepSmall(
  reading: Reading,
  errors: readonly (StatusError | null)[],
  where: (i: number) => readonly [field: string, name: string],
) {
  const sizes = errors.map(sizeOf)
  const sum = sizes.reduce((all, size) => all + size, 0)
  if (sum <= mostErrorBytes) return errors
  let left = mostErrorBytes
  let isFirst = true
  return errors.map((error, i) => {
    const size = sizes[i] ?? 0
    if (error === null || size <= left) {
      left -= size
      return error
    }
    if (isFirst) {
      const [field, name] = where(i)
      const limit = `must have at most ${mostErrorBytes} bytes in all errors together, but all have ${sum}`
      warn(reading, 'TEXT_ALTERED', field, `${limit}: those from ${shown(name)} on are cut`)
    }
    isFirst = false
    const cut = fitting(error, left)
    left -= sizeOf(cut)
    return cut
  })
}

/** An error without room for any of it keeps that there was one. */
function fitting({ code, message, source = '', originalLength }: StatusError, bytes: number): StatusError {
  const keptCode = cutToBytes(code, bytes)
  const room = bytes - Buffer.byteLength(keptCode)
  const length = originalLength ?? lengthOf(code) + lengthOf(message) + lengthOf(source)
  return { code: keptCode, message: cutToBytes(message, room), originalLength: length }
}

function sizeOf(error: StatusError | null): number {
  if (error === null) return 0
  return Buffer.byteLength(error.code) + Buffer.byteLength(error.message) + Buffer.byteLength(error.source ?? '')
}

/** Tolerance: some agents send numeric codes as numbers, although the specification says string. */
function numericCode(code: unknown): unknown {
  return typeof code === 'bigint' || Number.isFinite(code) ? String(code) : code
}

/** Tolerance: the specification's own example has the key "message " (2024-09), and the proposal's fourth one has `Error` (2024-06). */
function misspeltMessage(error: Body): unknown {
  return error.message ?? error['message '] ?? error.Error
}
