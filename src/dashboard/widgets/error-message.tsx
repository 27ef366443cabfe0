/** A failed request, and what to do about it. */
import type { ApiError } from '../../client/client.ts'
import { formatTime } from '../data/time.ts'
import { isPassing } from '../data/use-query.ts'
import { adjust } from '../route.ts'

/** Without the advice to other clients to retry. */
const describe = ({ code, message }: ApiError): string =>
  code === 'UNREACHABLE' ? "Can't reach the server" : message.replace(/(: retry later|\.)$/, '')

interface ErrorProps {
  readonly error: ApiError
  /** Shows the present, where the address has more of the past than its time. */
  readonly toNow?: (() => void) | undefined
}

export function ErrorMessage({ error, toNow = () => adjust({ at: null }) }: ErrorProps) {
  const { oldestTime } = error.facts
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
      {isPassing(error) ? `${describe(error)}. Retrying automatically.` : error.message}
    </p>
  )
}
