/** What all inputs have in common. */
import { DomainError } from '../domain/errors.ts'

/** More elements in one list are refused: whoever has more, asks or tells in parts. */
export const maxListSize = 10_000

type Given<T> = { readonly [K in keyof T]?: NonNullable<T[K]> }

/** Null says the same as an absent field: nothing is asked. */
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
