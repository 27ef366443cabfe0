/**
 * Every expected failure, in one table. Two places translate it: rest/problem.ts (HTTP) and graphql/execution/errors.ts.
 * Any other error is a bug: it is masked for the client and logged with an id.
 */
export const errorCodes = {
  INVALID_REQUEST: { status: 400, retryable: false, title: 'Invalid Request' },
  UNAUTHENTICATED: { status: 401, retryable: false, title: 'Unauthorized' },
  FORBIDDEN: { status: 403, retryable: false, title: 'Not Authorized' },
  NOT_FOUND: { status: 404, retryable: false, title: 'Not Found' },
  NOT_FOUND_YET: { status: 404, retryable: true, title: 'Not Found' },
  METHOD_NOT_ALLOWED: { status: 405, retryable: false, title: 'Method Not Allowed' },
  NOT_ACCEPTABLE: { status: 406, retryable: false, title: 'Not Acceptable' },
  CONFLICT: { status: 409, retryable: false, title: 'Conflict' },
  TOO_LARGE: { status: 413, retryable: false, title: 'Content Too Large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retryable: false, title: 'Unsupported Media Type' },
  SEMANTIC_ERROR: { status: 422, retryable: false, title: 'Semantic Error' },
  TOO_MANY: { status: 429, retryable: true, title: 'Too Many Requests' },
  LIMIT_EXCEEDED: { status: 400, retryable: false, title: 'Limit Exceeded' },
  TIMED_OUT: { status: 503, retryable: false, title: 'Timed Out' },
  UNAVAILABLE: { status: 503, retryable: true, title: 'Service Unavailable' },
  AMBIGUOUS: { status: 409, retryable: false, title: 'Ambiguous' },
  HISTORY_EXPIRED: { status: 410, retryable: false, title: 'History Expired' },
  DEVICE_RETIRED: { status: 410, retryable: false, title: 'Device Retired' },
  BAD_USER_INPUT: { status: 400, retryable: false, title: 'Invalid Request' },
} as const satisfies Record<string, { status: number; retryable: boolean; title: string }>

export type ErrorCode = keyof typeof errorCodes

/** A problem with one field of a request; `field` is a dotted path into the body, e.g. `components[1].state`. */
export interface FieldProblem {
  readonly field: string
  readonly message: string
}

export class DomainError extends Error {
  readonly code: ErrorCode
  readonly problems: readonly FieldProblem[]
  /** Extra facts for the client (extensions in GraphQL, members of the problem in REST). */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    more: { problems?: readonly FieldProblem[]; facts?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'DomainError'
    this.code = code
    this.problems = more.problems ?? []
    this.facts = more.facts ?? {}
  }
}
