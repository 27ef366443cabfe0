/** Translates errors to RFC 9457 problem+json, with the members that Margo clients read (docs/wire.md §1.3). GraphQL has the other translation. */
import { DomainError, type ErrorCode, errorCodes, type FieldProblem } from '../../domain/errors.ts'
import { retryAfter } from '../../platform/limits/admission.ts'
import { acceptedCodings } from '../../platform/limits/content-coding.ts'
import { describeOutage, isTransient } from '../../store/connection/failure.ts'

const margo = 'https://docs.margo.org/specification/problem-types#'
export const problemTypes: Partial<Record<ErrorCode, string>> = {
  INVALID_REQUEST: `${margo}invalid-request`,
  SEMANTIC_ERROR: `${margo}semantic-error`,
  FORBIDDEN: `${margo}not-authorized`,
}

interface Problem {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** `id` identifies an unexpected error in the log. The response contains nothing else about such an error. */
export function toProblem(error: unknown, id: string): Problem {
  if (error instanceof DomainError) return describe(error.code, error.message, error.problems, error.facts)
  if (isTransient(error)) return describe('UNAVAILABLE', `${describeOutage(error)}: retry later`, [], {})
  if (lacksDescriptor(error))
    return describe('UNAVAILABLE', 'the server has no file descriptor left: retry later', [], {})
  const detail = unexpected(id)
  const body = {
    type: 'about:blank',
    title: 'Internal Server Error',
    status: 500,
    detail,
    retryable: true,
    error: detail,
  }
  return render(500, { ...body, errors: [], id }, {})
}

/** Some routes load their code with the first request. Where Node cannot open a package.json, only the message says why. */
function lacksDescriptor(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false
  if (error.code === 'ERR_INVALID_PACKAGE_CONFIG') return /too many open files|file table overflow/.test(error.message)
  return error.code === 'EMFILE' || error.code === 'ENFILE'
}

function unexpected(id: string): string {
  return `Unexpected error ${id}. Details are in the server's log.`
}

interface ProblemMembers {
  readonly status: number
  /** From domain/errors.ts. Absent: the error was unexpected. */
  readonly code?: ErrorCode
  readonly retryable: boolean
  readonly errors: readonly FieldProblem[]
}

/** The members of a refusal within a list of results. */
export function problemMembers(error: unknown, id: string): ProblemMembers {
  if (!(error instanceof DomainError))
    return { status: 500, retryable: true, errors: [{ field: '', message: unexpected(id) }] }
  const { status, retryable } = errorCodes[error.code]
  const errors = error.problems.length > 0 ? error.problems : [{ field: '', message: error.message }]
  return { status, code: error.code, retryable, errors }
}

function describe(
  code: ErrorCode,
  detail: string,
  errors: readonly FieldProblem[],
  facts: Readonly<Record<string, unknown>>,
): Problem {
  const { status, title, retryable } = errorCodes[code]
  const body = {
    ...facts,
    type: problemTypes[code] ?? 'about:blank',
    title,
    status,
    code,
    detail,
    retryable,
    errors,
    error: detail,
  }
  if (code === 'UNSUPPORTED_MEDIA_TYPE' && errors[0]?.field === 'Content-Encoding')
    return render(status, body, { 'accept-encoding': acceptedCodings })
  if (!retryable || (status !== 429 && status !== 503)) return render(status, body, {})
  const retryAfterSeconds = retryAfter(facts, status === 429 ? 5 : 2)
  return render(
    status,
    { ...body, retryAfterSeconds, backoffStrategy: 'exponential' },
    { 'retry-after': String(retryAfterSeconds) },
  )
}

function render(status: number, body: object, headers: Record<string, string>): Problem {
  return { status, headers: { ...headers, 'content-type': 'application/problem+json' }, body: JSON.stringify(body) }
}
