/**
 * The only way in which JSON of another system is read: in slices, and its values are counted before any is created. JSON.parse alone blocks the
 * event loop for the whole text, and `[{},{},…]` needs forty times its size.
 */

import { DomainError } from '../../domain/errors.ts'
import { TooDeep } from '../body/json-parts.ts'
import { type ReadOptions, readJson } from '../body/json-reader.ts'
import { type Paced, paced } from '../limits/pace.ts'
import { AnswerError } from './request.ts'

export class NotJson extends AnswerError {
  constructor() {
    super('it answers with something that is not JSON')
  }
}

export interface JsonLimits {
  /** Values. */
  readonly most: number
  /** Bytes of one text. */
  readonly longestText: number
}

/** No known API nests deeper. */
export const deepest = 256

/** Throws AnswerError. */
export function readAnswer(bytes: Uint8Array, limits: JsonLimits): Promise<unknown> {
  return paced(readAnswerPaced(bytes, limits))
}

/** The same as a part of other paced work. `more`: other options of the reader. */
export function* readAnswerPaced(
  bytes: Uint8Array,
  limits: JsonLimits,
  more: Pick<ReadOptions, 'keepsDigits'> = {},
): Paced<unknown> {
  try {
    return yield* readJson(bytes, { deepest, room: 'anywhere', ...limits, ...more })
  } catch (error) {
    throw explain(error, limits)
  }
}

/** No message quotes the text. */
export function explain(error: unknown, { most, longestText }: JsonLimits): unknown {
  if (!(error instanceof DomainError)) return error
  if (error instanceof TooDeep)
    return new AnswerError(`it answers with JSON that is nested deeper than ${deepest} levels`)
  if (error.code !== 'TOO_LARGE') return new NotJson()
  return new AnswerError(`it answers with more than ${most} values, or a text of more than ${longestText} bytes`)
}

/** A member of an answer. Undefined: the answer is no object, or does not have it. */
export function memberOf(answer: unknown, name: string): unknown {
  return typeof answer === 'object' && answer !== null && Object.hasOwn(answer, name)
    ? (answer as Readonly<Record<string, unknown>>)[name]
    : undefined
}
