import { DomainError } from '../../domain/errors.ts'

/** The parameters of a query, each given at most once. Throws BAD_USER_INPUT: of two values, another program may take the other one. */
export function singleParameters(query: string): URLSearchParams {
  const given = new URLSearchParams(query)
  for (const name of given.keys())
    if (given.getAll(name).length > 1) {
      const message = `${name} is given more than once`
      throw new DomainError('BAD_USER_INPUT', message, { problems: [{ field: name, message }] })
    }
  return given
}
