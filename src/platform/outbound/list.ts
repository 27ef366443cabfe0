/**
 * A list in an answer, such as `{"metadata": …, "items": […]}`, element by element: an element that cannot be read is left out, and the others are
 * taken. Elements are read when they are needed, so a list costs its bytes and one part of it.
 */
import { type Measure, openList, openObject, type Part } from '../body/json-parts.ts'
import {
  measureOf,
  memberOf as memberAt,
  partsOf,
  readPart,
  readPiece,
  scanElements,
  whole,
} from '../body/json-reader.ts'
import { type Body, isObject } from '../body/problems.ts'
import { isDeeperThan } from '../limits/nesting.ts'
import { type Paced, paced } from '../limits/pace.ts'
import { sizeOf } from '../limits/size.ts'
import { deepest, explain, type JsonLimits, NotJson, readAnswerPaced } from './json.ts'
import { AnswerError } from './request.ts'

export interface ListedObject {
  readonly object: object
  /** About its bytes. */
  readonly size: number
}

export interface ListPart {
  readonly objects: readonly ListedObject[]
  /** Elements that are no objects. */
  readonly others: number
  /** Objects that are no JSON, nest too deep, or have too many values or too long a text. */
  readonly unreadable: number
}

export interface ListAnswer {
  /** The members besides the list. */
  readonly members: Body
  parts(): AsyncGenerator<ListPart>
}

interface ListLimits extends JsonLimits {
  /** Elements of the list. */
  readonly mostElements: number
  /** Of one element. */
  readonly element: JsonLimits
}

/** Elements and bytes of a part. */
const partLimits = { elements: 50, bytes: 1 << 20 }

/** Throws AnswerError if it is no object with a list in that member. */
export async function readListAnswer(bytes: Uint8Array, member: string, limits: ListLimits): Promise<ListAnswer> {
  const { members, list } = await paced(splitAnswer(bytes, member, limits))
  return { members, parts: () => readParts(bytes, list, limits.element) }
}

/** An element that was read with its neighbours, or where it is. */
type Element = { readonly value: unknown } | Part

function* splitAnswer(bytes: Uint8Array, member: string, limits: ListLimits) {
  try {
    const measure = measureOf(bytes, Number.POSITIVE_INFINITY, limits)
    const all = whole(bytes)
    if (bytes[all.from] !== openObject) throw new NotJson()
    // Here `__proto__` is an ordinary key.
    const members = Object.create(null) as Record<string, unknown>
    let list: readonly Element[] | null = null
    for (const run of yield* partsOf(measure, all, true)) {
      const isLarge = run.count === 1 && run.to - run.from > measure.piece
      const large = isLarge ? memberAt(measure, run) : null
      if (large?.key === member && bytes[large.value.from] === openList)
        list = yield* findElements(measure, large.value, limits.mostElements)
      else
        Object.assign(members, large ? yield* readLarge(measure, large) : (readPiece(measure, run, '{', '}') as Body))
      yield
    }
    const { [member]: small, ...rest } = members
    if (Array.isArray(small)) list ??= small.map((value: unknown) => ({ value }))
    if (list === null) throw new AnswerError(`it answers without a list of ${member}`)
    return { members: rest, list }
  } catch (error) {
    throw explain(error, limits)
  }
}

function* readLarge(measure: Measure, { key, value }: { readonly key: string; readonly value: Part }): Paced<object> {
  return { [key]: yield* readPart({ ...measure, deepest }, value, 'anywhere') }
}

function* findElements(measure: Measure, list: Part, most: number): Paced<readonly Part[]> {
  const found: Part[] = []
  yield* scanElements(measure, list, false, (part) => {
    if (found.length >= most) throw new AnswerError(`it answers with more than ${most} elements of a list`)
    found.push(part)
  })
  return found
}

async function* readParts(bytes: Uint8Array, list: readonly Element[], limits: JsonLimits): AsyncGenerator<ListPart> {
  for (let at = 0; at < list.length; ) {
    const begin = at
    for (let size = 0; at < list.length && at - begin < partLimits.elements && size < partLimits.bytes; at += 1)
      size += sizeIn(list[at])
    yield await paced(readElements(bytes, list.slice(begin, at), limits))
  }
}

function sizeIn(element: Element | undefined): number {
  return element && 'from' in element ? element.to - element.from : 0
}

function* readElements(bytes: Uint8Array, elements: readonly Element[], limits: JsonLimits): Paced<ListPart> {
  const objects: ListedObject[] = []
  let [others, unreadable] = [0, 0]
  for (const element of elements) {
    const value = yield* readElement(bytes, element, limits)
    if (value === undefined) unreadable += 1
    else if (isObject(value))
      objects.push({ object: value, size: sizeIn(element) || sizeOf(value, Number.POSITIVE_INFINITY) })
    else others += 1
    yield
  }
  return { objects, others, unreadable }
}

/** Undefined: it cannot be read. */
function* readElement(bytes: Uint8Array, element: Element, limits: JsonLimits): Paced<unknown> {
  if ('value' in element) return isDeeperThan(element.value, deepest) ? undefined : element.value
  try {
    return yield* readAnswerPaced(bytes.subarray(element.from, element.to), limits)
  } catch (error) {
    if (error instanceof AnswerError) return undefined
    throw error
  }
}
