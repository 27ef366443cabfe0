/** What an API server refused, or why its answer cannot be read, in words for operators. */
import { foreignText } from '../../domain/text.ts'
import { memberOf } from '../../platform/outbound/json.ts'
import { AnswerError } from '../../platform/outbound/request.ts'
import { KubeconfigError } from './kubeconfig.ts'

/** An error for operators. Its message contains no credentials. */
export class ApiServerError extends Error {
  /** The HTTP status, or the code of the error in the stream. */
  readonly status: number | null
  /** Milliseconds. */
  readonly retryAfter: number | null

  constructor(message: string, status: number | null = null, retryAfter: number | null = null) {
    super(message)
    this.name = 'ApiServerError'
    this.status = status
    this.retryAfter = retryAfter
  }

  /** Our resourceVersion is too old for the server: list again. */
  get isExpired(): boolean {
    return this.status === 410
  }
}

/** The text of an API server about a refusal contains names of users and resources. */
export function describeRefusal(status: number, said: unknown): string {
  const [reason, message] = [memberOf(said, 'reason'), memberOf(said, 'message')]
  if (status === 401) return '401: it does not accept the kubeconfig’s credentials'
  if (status === 404) return '404: it does not know ResourceBundleStates (is EMCO’s monitor installed there?)'
  const words = [reason, message].filter((word) => typeof word === 'string' && word !== '').join(': ')
  return words === '' ? String(status) : `${status} ${foreignText(words)}`
}

export function toApiServerError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof ApiServerError) return error
  if (error instanceof KubeconfigError) return new ApiServerError(error.message)
  if (error instanceof AnswerError) return new ApiServerError(error.message)
  const { code } = error as { code?: unknown }
  return new ApiServerError(`the connection failed${typeof code === 'string' ? `: ${code}` : ''}`)
}
