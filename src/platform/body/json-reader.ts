/**
 * Reads JSON of any size in slices. Large lists and objects are split, and small parts go to JSON.parse.
 *
 * JSON.parse alone blocks the event loop for the whole text, needs up to forty times its memory (`[{},{},…]`), and is ten times slower
 * with a reviver. So values are counted before any is created, and integers that a double cannot hold are quoted first. No part is
 * larger than `largest`, unless the reader of this kind of body allows it.
 */
import { randomUUID } from 'node:crypto'
import { DomainError } from '../../domain/errors.ts'
import type { Paced } from '../limits/pace.ts'
import {
  endOfString,
  type Measure,
  noteNumber,
  notJson,
  openList,
  openObject,
  type Part,
  quote,
  scanParts,
  trim,
} from './json-parts.ts'
import { type Decode, decodeUtf8 } from './utf8.ts'

/** The members or elements that may be larger than `largest`. Their small members share that limit. */
export type Room = 'anywhere' | { readonly members?: Readonly<Record<string, Room>>; readonly elements?: Room }

export interface ReadOptions {
  /** The limit of nesting. */
  readonly deepest: number
  readonly room?: Room
  /** Whether integers beyond ±(2^53-1) are returned as bigint. */
  readonly keepsDigits?: boolean
  /** The limit of values. Without it, the limit follows from the size. */
  readonly most?: number
  /** Bytes of one text or number. Without it, the limit is that of a part. */
  readonly longestText?: number
  /** Bytes for one call of JSON.parse. */
  readonly piece?: number
  /** Default: bytes that are not UTF-8 are an INVALID_REQUEST. */
  readonly decode?: Decode
}

/** Bytes. The limit for anything but a list of items or an object of lists. Kubernetes allows objects of at most 1.5 MiB. */
export const largest = 2 << 20
/** Bytes for one call of JSON.parse. */
export const piece = 32 << 10

/** The densest meaningful body has one value in twelve bytes. */
function mostValues(size: number): number {
  return 20_000 + size / 8
}

export function measureOf(
  bytes: Uint8Array,
  deepest: number,
  size: Pick<ReadOptions, 'most' | 'piece' | 'longestText' | 'decode'> = {},
): Measure {
  const most = mostValues(bytes.length)
  const longestText = Number.POSITIVE_INFINITY
  return { bytes, deepest, most, piece, longestText, decode: decodeUtf8, values: 0, long: [], ...size }
}

/** The whole text without a byte order mark. */
export function whole(bytes: Uint8Array): Part {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return trim(bytes, { from: hasMark ? 3 : 0, to: bytes.length })
}

function isContainer({ bytes }: Measure, { from }: Part): boolean {
  return bytes[from] === openList || bytes[from] === openObject
}

/** The value of the text. Throws INVALID_REQUEST or TOO_LARGE. */
export function* readJson(
  bytes: Uint8Array,
  { deepest, room, keepsDigits = true, ...size }: ReadOptions,
): Paced<unknown> {
  const measure = measureOf(bytes, deepest, size)
  const part = whole(bytes)
  if (part.from === part.to) throw notJson('it is empty')
  if (!isContainer(measure, part)) {
    noteNumber(measure, part)
    return yield* readPart(measure, part, room)
  }
  const parts = yield* partsOf(measure, part, true)
  if (!keepsDigits) measure.long.length = 0
  return yield* readParts(measure, part, parts, room)
}

/** Each element or member, without surrounding whitespace. */
export function* scanElements(
  measure: Measure,
  part: Part,
  isFirst: boolean,
  take: (part: Part) => void,
): Paced<undefined> {
  yield* scanParts(measure, part, isFirst, (untrimmed) => {
    const next = trim(measure.bytes, untrimmed)
    if (next.from < next.to) take(next)
    // An empty list is valid, but an empty element between two commas is not.
    else if (untrimmed.from !== part.from + 1 || untrimmed.to !== part.to - 1)
      throw notJson('an element between two commas is missing')
  })
  return undefined
}

/** Adjacent small elements or members as one run. A list of a million elements has some hundred runs. */
type Run = Part & { readonly count: number }

export function* partsOf(measure: Measure, part: Part, isFirst: boolean): Paced<readonly Run[]> {
  const runs: Run[] = []
  yield* scanElements(measure, part, isFirst, (next) => {
    const last = runs.at(-1)
    if (last && next.to - last.from <= measure.piece)
      runs[runs.length - 1] = { from: last.from, to: next.to, count: last.count + 1 }
    else runs.push({ ...next, count: 1 })
  })
  return runs
}

/** Reads the value between two commas or brackets. */
export function* readPart(measure: Measure, part: Part, room: Room | undefined): Paced<unknown> {
  const size = part.to - part.from
  if (size > largest && room !== 'anywhere' && !(room && isContainer(measure, part))) throw tooLarge()
  if (size > measure.longestText && !isContainer(measure, part)) throw tooLarge(measure.longestText)
  if (size <= measure.piece || !isContainer(measure, part)) return readPiece(measure, part)
  return yield* readParts(measure, part, yield* partsOf(measure, part, false), room)
}

function* readParts(measure: Measure, whole: Part, runs: readonly Run[], room: Room | undefined): Paced<unknown> {
  return measure.bytes[whole.from] === openList
    ? yield* readList(measure, runs, room === 'anywhere' ? room : room?.elements)
    : yield* readObject(measure, runs, room === 'anywhere' ? room : (room?.members ?? {}))
}

function* readList(measure: Measure, runs: readonly Run[], room: Room | undefined): Paced<unknown[]> {
  const list: unknown[] = []
  for (const run of runs) {
    if (run.count === 1) list.push(yield* readPart(measure, run, room))
    else for (const element of readPiece(measure, run, '[', ']') as unknown[]) list.push(element)
    yield
  }
  return list
}

function* readObject(
  measure: Measure,
  runs: readonly Run[],
  room: 'anywhere' | Readonly<Record<string, Room>>,
): Paced<object> {
  const object: Record<string, unknown> = {}
  let small = 0
  for (const run of runs) {
    const size = run.to - run.from
    if (run.count > 1 || size <= measure.piece) {
      small += size
      const members = readPiece(measure, run, '{', '}') as Record<string, unknown>
      for (const key of Object.keys(members)) put(object, key, members[key])
    } else {
      const { key, value } = memberOf(measure, run)
      const own = room === 'anywhere' ? room : Object.hasOwn(room, key) ? room[key] : undefined
      if (!own) small += size
      put(object, key, yield* readPart(measure, value, own))
    }
    if (small > largest && room !== 'anywhere') throw tooLarge()
    yield
  }
  return object
}

interface Member {
  readonly key: string
  readonly value: Part
}

export function memberOf(measure: Measure, part: Part): Member {
  const { bytes } = measure
  const end = bytes[part.from] === quote ? endOfString(bytes, part.from, part.to) + 1 : part.to
  const rest = trim(bytes, { from: Math.min(end, part.to), to: part.to })
  if (bytes[rest.from] !== 0x3a || rest.from === rest.to) throw notJson('a key is not followed by a colon')
  const value = trim(bytes, { from: rest.from + 1, to: rest.to })
  if (value.from === value.to) throw notJson('a key has no value')
  if (end - part.from > largest) throw tooLarge()
  return { key: String(readPiece(measure, { from: part.from, to: end })), value }
}

/** `__proto__` is an ordinary key here. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
}

/** The prefix of a string that was a number. It is random, so that no client can guess it. */
const mark = `${randomUUID()}:`

export function readPiece({ bytes, long, decode }: Measure, { from, to }: Part, open = '', close = ''): unknown {
  let text = open
  let at = from
  let isMarked = false
  for (let i = firstFrom(long, from); i < long.length && (long[i] as number) < to; i += 2) {
    const [begin, end] = [long[i] as number, long[i + 1] as number]
    const digits = decode(bytes.subarray(begin, end))
    if (Number.isSafeInteger(Number(digits))) continue
    text += `${decode(bytes.subarray(at, begin))}"${mark}${digits}"`
    at = end
    isMarked = true
  }
  text += decode(bytes.subarray(at, to)) + close
  try {
    const value: unknown = JSON.parse(text)
    return isMarked ? unmark(value) : value
  } catch (cause) {
    throw cause instanceof DomainError
      ? cause
      : notJson(cause instanceof Error ? cause.message.replaceAll(mark, '') : 'it cannot be read', cause)
  }
}

/** Index of the first number that begins at or after `from`. */
function firstFrom(long: readonly number[], from: number): number {
  let [low, high] = [0, long.length / 2]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((long[middle * 2] as number) < from) low = middle + 1
    else high = middle
  }
  return low * 2
}

function unmark(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value
  if (Array.isArray(value)) for (const [index, element] of value.entries()) value[index] = unmark(element)
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) {
      if (key.startsWith(mark)) throw notJson('a number cannot be a key')
      put(value as Record<string, unknown>, key, unmark(member))
    }
  return value
}

function tooLarge(most = largest): DomainError {
  return new DomainError('TOO_LARGE', `The JSON has a part of more than ${most} bytes.`)
}
