/** Cursors. The cursor of a list is opaque: a version, the name of the order and the row's place in it. The cursor of a change is its revision. */
import { DomainError } from '../../domain/errors.ts'
import { connectivities } from '../../domain/target.ts'
import { isStorable } from '../../domain/text.ts'
import { deploymentStates, type Revision, readinesses } from '../../domain/values.ts'
import type { Order, Place, SortKey } from './order.ts'

const cursorVersion = 1

export function writeCursor<T>(order: Order<T>, node: T): string {
  const place = order.keys.map((key) => key.of(node))
  return Buffer.from(JSON.stringify([cursorVersion, order.name, ...place])).toString('base64url')
}

export function readCursor<T>(order: Order<T>, cursor: string, argument: 'after' | 'before'): Place {
  const [version, name, ...place] = parseJsonList(Buffer.from(cursor, 'base64url').toString())
  const isValid =
    version === cursorVersion &&
    name === order.name &&
    place.length === order.keys.length &&
    order.keys.every((key, index) => isKeyValue(key.type, place[index]))
  if (!isValid) throw badArgument(argument, 'is not a cursor of this list in this order')
  return place as Place
}

const valuesOf: Readonly<Record<'deployment_state' | 'connectivity' | 'readiness', readonly string[]>> = {
  deployment_state: deploymentStates,
  connectivity: connectivities,
  readiness: readinesses,
}

function isKeyValue(type: SortKey<unknown>['type'], value: unknown): boolean {
  if (type === 'bigint') return Number.isSafeInteger(value)
  return typeof value === 'string' && isStorable(value) && (type === 'text' || valuesOf[type].includes(value))
}

function parseJsonList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** A revision as the API writes it. A number above 2^53-1 loses precision, but it stays above any head. */
export function parseRevision(text: string, argument: string, alternative = ''): Revision {
  if (!/^\d{1,40}$/.test(text))
    throw badArgument(argument, `must be a revision, which has decimal digits only${alternative}`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

export function badArgument(argument: string, problem: string): DomainError {
  const message = `${argument} ${problem}`
  return new DomainError('BAD_USER_INPUT', message, { problems: [{ field: argument, message }] })
}
