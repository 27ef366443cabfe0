/**
 * Translates errors for clients, on every transport. One of two places that translate a DomainError (the other:
 * rest/problem.ts).
 *
 *   DomainError              its message, and its code, facts and problems in `extensions`
 *   a GraphQLError           unchanged: the client's document or variables are wrong
 *   database unreachable     UNAVAILABLE: retry later
 *   anything else: a bug     masked, with an ID that is also in the log
 */
import { randomUUID } from 'node:crypto'
import { type ExecutionResult, type FormattedExecutionResult, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { DomainError, errorCodes } from '../../../domain/errors.ts'
import { describeOutage, isTransient } from '../../../store/connection/failure.ts'

export interface ErrorLog {
  error(fields: object, message: string): void
}

const unavailable = { code: 'UNAVAILABLE', retryable: true }

export type MaskError = (error: unknown) => GraphQLError

export function createMaskError(log: ErrorLog): MaskError {
  return (error) => {
    const cause = rootCause(error)
    const place = error instanceof GraphQLError ? error : null
    if (cause instanceof DomainError) return at(place, cut(cause.message), extensionsOf(cause))
    if (cause instanceof GraphQLError) return short(place ?? cause)
    if (isTransient(cause)) return at(place, `${describeOutage(cause)}: retry later`, unavailable)
    const id = randomUUID()
    log.error({ errorId: id, path: place?.path, error: cause }, 'GraphQL operation failed with an unexpected error')
    // `unexpected` makes Yoga respond with 500 if there is no data.
    const extensions = { code: 'INTERNAL_SERVER_ERROR', id, unexpected: true }
    return at(place, `Unexpected error ${id}. Details are in the server's log.`, extensions)
  }
}

/** The error as it is sent, without the extensions that are meant for Yoga. */
export function formatError(error: GraphQLError): GraphQLFormattedError {
  const { extensions = {}, ...rest } = short(error).toJSON()
  const { http: _, unexpected: __, ...shown } = extensions
  return Object.keys(shown).length > 0 ? { ...rest, extensions: shown } : rest
}

export function maskResult(result: ExecutionResult, maskError: MaskError): ExecutionResult {
  return result.errors ? { ...result, errors: result.errors.map(maskError) } : result
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
  const shown = problems.length > 0 ? { problems: problems.slice(0, maxProblems) } : {}
  return { ...facts, ...shown, code, ...(errorCodes[code].retryable ? { retryable: true } : {}) }
}

/** Characters of a message. graphql quotes the input in its messages. */
const maxMessageLength = 1_000

/** Problems of one error. */
const maxProblems = 100

function cut(message: string): string {
  return message.length <= maxMessageLength ? message : `${message.slice(0, maxMessageLength).toWellFormed()}…`
}

/** The error with its message truncated. */
export function short(error: GraphQLError): GraphQLError {
  return error.message.length <= maxMessageLength ? error : at(error, cut(error.message), error.extensions)
}

/** graphql wraps errors of resolvers to add their location. */
function rootCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError
  return cause
}

function at(place: GraphQLError | null, message: string, extensions: GraphQLError['extensions']): GraphQLError {
  if (!place) return new GraphQLError(message, { extensions })
  const { nodes, source, positions, path } = place
  return new GraphQLError(message, { nodes, source, positions, path, extensions })
}
