/** Why a request or a subscription fails. */

export interface GraphqlError {
  readonly message: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

/**
 * `code`: that of the first GraphQL error; UNREACHABLE: no response, or a part of one; NO_ANSWER: no response of the API; REFUSED: the server does
 * not accept the connection; TOO_LARGE: more than `largestAnswer`; UNKNOWN otherwise.
 */
export class ApiError extends Error {
  readonly code: string
  /** Those of GraphQL. */
  readonly errors: readonly GraphqlError[]
  /** The HTTP status; 0 without a response, or over a socket. */
  readonly status: number

  constructor(
    code: string,
    message: string,
    { errors = [], status = 0 }: { readonly errors?: readonly GraphqlError[]; readonly status?: number } = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.errors = errors
    this.status = status
  }
}

export function toApiError(errors: readonly GraphqlError[], status = 0): ApiError {
  const code = errors[0]?.extensions?.code
  const message = errors.map((error) => error.message).join('\n')
  return new ApiError(typeof code === 'string' ? code : 'UNKNOWN', message, { errors, status })
}

/** Whether a retry can succeed. */
export const isPassing = ({ code, status }: ApiError): boolean =>
  status === 429 || status >= 500 || ['UNREACHABLE', 'UNAVAILABLE', 'TOO_MANY'].includes(code)

/** Whether another credential can succeed. */
export const isRefused = ({ code, status }: ApiError): boolean =>
  status === 401 || ['REFUSED', 'UNAUTHENTICATED'].includes(code)

/** The browser's CloseEvent, which Node's types do not know. A DOMException has a numeric code, too. */
export function isCloseEvent(event: unknown): event is { readonly code: number; readonly reason: string } {
  if (typeof event !== 'object' || event === null) return false
  return 'code' in event && typeof event.code === 'number' && 'reason' in event
}

/** fetch puts the reason of a failure into its error's `cause`, and a socket into its event's `error`. */
export function reasonOf(error: unknown): string {
  if (isCloseEvent(error)) return `the connection was closed (${[error.code, error.reason].filter(Boolean).join(' ')})`
  const own = error instanceof Error ? (error.cause ?? error) : (error as { readonly error?: unknown } | null)?.error
  if (!(own instanceof Error)) return 'the connection failed'
  const { name, code, message } = own as Error & { readonly code?: unknown }
  if (name === 'TimeoutError') return 'it did not answer in time'
  return typeof code === 'string' ? code : message
}

export const toUnreachable = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError('UNREACHABLE', reasonOf(error))
