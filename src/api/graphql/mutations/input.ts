/** Rules that all inputs share. */
import { DomainError } from '../../../domain/errors.ts'

/** Elements of one list. A client with more splits its request. */
export const maxListSize = 10_000

type Given<T> = { readonly [K in keyof T]?: NonNullable<T[K]> }

/** Drops null fields: null means the same as absent. */
export function givenFields<T extends object>(input: T): Given<T> {
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  for (const [field, value] of given)
    if (Array.isArray(value) && value.length > maxListSize)
      throw new DomainError(
        'BAD_USER_INPUT',
        `${field} has ${value.length} elements; at most ${maxListSize} are allowed`,
      )
  return Object.fromEntries(given) as Given<T>
}
