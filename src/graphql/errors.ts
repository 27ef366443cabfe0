/**
 * What an error looks like outside, on every transport. One of two places that translate a DomainError (the other: rest/problem.ts).
 *
 *   DomainError              its message, and its code, facts and problems in `extensions`
 *   GraphQL's own            as it is: the client's document or variables are wrong
 *   the database is away     UNAVAILABLE: ask again later
 *   anything else: a bug     masked, with an id that the log has too
 */
import { randomUUID } from 'node:crypto'
import { type FormattedExecutionResult, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { DomainError, errorCodes } from '../domain/errors.ts'
import { isTransient } from '../store/failure.ts'

export interface ErrorLog {
  error(fields: object, message: string): void
}

const unavailable = { code: 'UNAVAILABLE', retryable: true }

export type MaskError = (error: unknown) => GraphQLError

export function createMaskError(log: ErrorLog): MaskError {
  return (error) => {
    const cause = rootCause(error)
    const place = error instanceof GraphQLError ? error : null
    if (cause instanceof DomainError) return at(place, cause.message, extensionsOf(cause))
    if (cause instanceof GraphQLError) return place ?? cause
    if (isTransient(cause)) return at(place, 'the database cannot be reached: ask again later', unavailable)
    const id = randomUUID()
    log.error({ errorId: id, path: place?.path, error: cause }, 'a GraphQL operation met an unexpected error')
    // `unexpected` makes Yoga answer 500 when there is no data at all.
    const extensions = { code: 'INTERNAL_SERVER_ERROR', id, unexpected: true }
    return at(place, `Unexpected error ${id}: it is in the server's log.`, extensions)
  }
}

/** As it is sent: without what only Yoga wants to know. */
export function formatError(error: GraphQLError): GraphQLFormattedError {
  const { extensions = {}, ...rest } = error.toJSON()
  const { http: _, unexpected: __, ...shown } = extensions
  return Object.keys(shown).length > 0 ? { ...rest, extensions: shown } : rest
}

interface AnyResult {
  readonly data?: unknown
  readonly errors?: readonly GraphQLError[] | undefined
}

export function formatResult({ errors, ...result }: AnyResult): FormattedExecutionResult {
  return errors
    ? ({ ...result, errors: errors.map(formatError) } as FormattedExecutionResult)
    : (result as FormattedExecutionResult)
}

function extensionsOf({ code, facts, problems }: DomainError): Record<string, unknown> {
  const shown = problems.length > 0 ? { problems } : {}
  return { ...facts, ...shown, code, ...(errorCodes[code].retryable ? { retryable: true } : {}) }
}

/** GraphQL wraps what resolvers throw, to say where. */
function rootCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError
  return cause
}

function at(place: GraphQLError | null, message: string, extensions: Record<string, unknown>): GraphQLError {
  if (!place) return new GraphQLError(message, { extensions })
  const { nodes, source, positions, path } = place
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
