/** What could not be answered, and what to do about it. */
import type { ApiError } from './api.ts'
import { adjust } from './route.ts'
import { formatTime } from './time.ts'

export function Trouble({ error }: { readonly error: ApiError }) {
  const { oldestTime } = error.facts
  if (error.code === 'HISTORY_EXPIRED')
    return (
      <p class="trouble" role="alert">
        That is further back than history is kept
        {typeof oldestTime === 'string' && ` (since ${formatTime(oldestTime)})`}.{' '}
        <button type="button" class="quiet" onClick={() => adjust({ at: null })}>
          Back to now
        </button>
      </p>
    )
  return (
    <p class="trouble" role="alert">
      {error.code === 'UNREACHABLE' ? 'The server cannot be reached. It is tried again by itself.' : error.message}
    </p>
  )
}
