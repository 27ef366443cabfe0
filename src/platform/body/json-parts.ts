/** Finds where the members of a JSON container begin and end, from the bytes alone, so that each member can be read separately. */
import { DomainError } from '../../domain/errors.ts'
import type { Paced } from '../limits/pace.ts'
import type { Decode } from './utf8.ts'

export interface Part {
  readonly from: number
  readonly to: number
}

/** Filled during the first scan of a text. */
export interface Measure {
  readonly bytes: Uint8Array
  /** The limit of nesting. */
  readonly deepest: number
  /** The limit of values. */
  readonly most: number
  /** Bytes for one call of JSON.parse. */
  readonly piece: number
  /** Bytes of one text or number. */
  readonly longestText: number
  readonly decode: Decode
  values: number
  /** Start and end of each number that JSON.parse may round, one after the other. */
  readonly long: number[]
}

/** Bytes between two pauses. */
const stride = 128 << 10
/** A longer number is a double: to convert its digits takes time that grows with their square. */
const mostDigits = 1_000

export const quote = 0x22
export const openList = 0x5b
export const openObject = 0x7b
const [backslash, comma, minus, dot, closeList, closeObject] = [0x5c, 0x2c, 0x2d, 0x2e, 0x5d, 0x7d]

/**
 * Splits the list or object that starts at `from` and ends before `to`, and passes each part to `take`, untrimmed. It reads a part only to
 * find its end; whether the part is JSON is checked when it is read. `isFirst`: also measures the text.
 */
export function* scanParts(
  measure: Measure,
  { from, to }: Part,
  isFirst: boolean,
  take: (part: Part) => void,
): Paced<undefined> {
  const { bytes, most } = measure
  const end = to - 1
  const expected = bytes[from] === openList ? closeList : closeObject
  if (end <= from || bytes[end] !== expected) throw notJson('it ends too early, or in the wrong bracket')
  const scan: Scan = { measure, end, isFirst, take, at: from + 1, begin: from + 1, level: 0, isText: false }
  if (isFirst) measure.values += 1
  for (let pauseAt = from + stride; scan.at < end; pauseAt = scan.at + stride) {
    scanStretch(scan, Math.min(end, pauseAt))
    if (measure.values > most) throw tooMany(most)
    if (scan.at >= pauseAt) yield
  }
  if (scan.level > 0 || scan.isText) throw notJson('it ends too early')
  if (measure.values > most) throw tooMany(most)
  take({ from: scan.begin, to: end })
  return undefined
}

interface Scan {
  readonly measure: Measure
  readonly end: number
  readonly isFirst: boolean
  readonly take: (part: Part) => void
  at: number
  /** Where the present part begins. */
  begin: number
  level: number
  /** Whether the position is inside a text. */
  isText: boolean
}

function scanStretch(scan: Scan, stop: number): void {
  const { measure, end, isFirst, take } = scan
  const { bytes, deepest } = measure
  let { at, level, isText } = scan
  while (at < stop) {
    const byte = bytes[at] as number
    if (isText || byte === quote) {
      at = skipText(bytes, isText ? at : at + 1, stop)
      isText = at >= stop
      if (!isText) at += 1
      continue
    }
    at = isDigit(byte) ? endOfDigits(measure, at, end, isFirst) : at + 1
    const step = nestingOf(byte)
    if (step !== 0) level = checkedLevel(level + step, deepest)
    if (isFirst && (byte === comma || step > 0)) measure.values += 1
    if (byte === comma && level === 0) {
      take({ from: scan.begin, to: at - 1 })
      scan.begin = at
    }
  }
  scan.at = at
  scan.level = level
  scan.isText = isText
}

/** The position of the closing quote. At `stop` or beyond it if the text goes on there. */
function skipText(bytes: Uint8Array, from: number, stop: number): number {
  let at = from
  while (at < stop && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

/** 1: a bracket opens. -1: a bracket closes. */
function nestingOf(byte: number): number {
  if (byte < openList) return 0
  if (byte === openList || byte === openObject) return 1
  return byte === closeList || byte === closeObject ? -1 : 0
}

function checkedLevel(level: number, deepest: number): number {
  if (level >= deepest) throw new TooDeep(deepest)
  if (level < 0) throw notJson('it has a closing bracket too many')
  return level
}

export class TooDeep extends DomainError {
  constructor(deepest: number) {
    super('INVALID_REQUEST', `The JSON is nested deeper than ${deepest} levels.`)
  }
}

function tooMany(most: number): DomainError {
  const message = `The JSON has more than ${Math.floor(most)} values, which is too many for its size: send it in parts.`
  return new DomainError('TOO_LARGE', message)
}

/** The position of the closing quote. Beyond `end` if there is none. */
export function endOfString(bytes: Uint8Array, begin: number, end: number): number {
  const at = skipText(bytes, begin + 1, end)
  return at < end ? at : end + 1
}

/** Notes integers of 16 digits or more: a safe integer has at most 16. The rest of a longer number is read as the next one. */
function endOfDigits({ bytes, long }: Measure, begin: number, end: number, isFirst: boolean): number {
  let at = begin + 1
  while (at < end && at - begin <= mostDigits && isDigit(bytes[at])) at += 1
  if (!isFirst || at - begin < 16 || at - begin > mostDigits || isDigit(bytes[begin - 1])) return at
  const isNegative = bytes[begin - 1] === minus
  const before = bytes[isNegative ? begin - 2 : begin - 1]
  const isWhole =
    !isExponent(before) && before !== dot && bytes[begin - 1] !== 0x2b && !isExponent(bytes[at]) && bytes[at] !== dot
  if (isWhole && bytes[begin] !== 0x30) long.push(isNegative ? begin - 1 : begin, at)
  return at
}

/** For a text that is a single number. */
export function noteNumber(measure: Measure, { from, to }: Part): void {
  const begin = measure.bytes[from] === minus ? from + 1 : from
  if (isDigit(measure.bytes[begin])) endOfDigits(measure, begin, to, true)
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function isExponent(byte: number | undefined): boolean {
  return byte === 0x65 || byte === 0x45
}

/** Bytes. */
const mostBlanks = 1 << 20

/** Removes surrounding whitespace. It does not pause, so there is a limit. */
export function trim(bytes: Uint8Array, { from, to }: Part): Part {
  let [begin, end] = [from, to]
  const [last, first] = [Math.min(to, from + mostBlanks), Math.max(from, to - mostBlanks)]
  while (begin < last && isBlank(bytes[begin])) begin += 1
  while (end > begin && end > first && isBlank(bytes[end - 1])) end -= 1
  if (begin - from >= mostBlanks || to - end >= mostBlanks)
    throw notJson(`it has ${mostBlanks} or more bytes of white space in a row`)
  return { from: begin, to: end }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

export function notJson(why: string, cause?: unknown): DomainError {
  return new DomainError('INVALID_REQUEST', `The text is not valid JSON: ${why.toWellFormed()}.`, { cause })
}
