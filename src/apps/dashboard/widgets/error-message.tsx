/** A failed request, and what to do about it. */
import { ApiError } from '../../client/client.ts'
import { formatTime } from '../data/time.ts'
import { isPassing } from '../data/use-query.ts'
import { adjust } from '../route.ts'

/** Without the advice to other clients to retry. */
const describe = ({ code, message }: ApiError): string =>
  code === 'UNREACHABLE' ? "Can't reach the server" : message.replace(/(: retry later|\.)$/, '')

/** Why an action of the reader has failed. */
export const describeFailure = (error: unknown): string =>
  error instanceof ApiError && isPassing(error)
    ? `${describe(error)}. Try again.`
    : error instanceof Error
      ? error.message
      : String(error)

interface ErrorProps {
  readonly error: ApiError
  /** An action of the reader has failed, which is not repeated. */
  readonly isOnce?: boolean
  /** Shows the present, where the address has more of the past than its time. */
  readonly toNow?: (() => void) | undefined
}

export function ErrorMessage({ error, isOnce = false, toNow = () => adjust({ at: null }) }: ErrorProps) {
  const oldestTime = error.errors[0]?.extensions?.oldestTime
  if (error.code === 'HISTORY_EXPIRED')
    return (
      <p class="trouble" role="alert">
        No history for this time.{typeof oldestTime === 'string' && ` It begins at ${formatTime(oldestTime)}.`}{' '}
        <button type="button" class="quiet" onClick={toNow}>
          Back to now
        </button>
      </p>
    )
  return (
    <p class="trouble" role="alert">
      {isPassing(error) && !isOnce ? `${describe(error)}. Retrying automatically.` : describeFailure(error)}
    </p>
  )
}
