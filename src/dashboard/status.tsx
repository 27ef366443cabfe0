/** Whether this is live, and if not, how old it is. */
import { connection, reconnect } from './api.ts'
import { adjust, at } from './route.ts'
import { formatFull, formatSpan, formatTime, now } from './time.ts'

export function Status() {
  const { value } = connection
  const state = value.state === 'live' && at.value ? 'past' : value.state
  return (
    <span class={`status ${state}`}>
      <i aria-hidden="true" />
      {{ live: 'Live', connecting: 'Connecting', lost: 'Disconnected', past: 'Past' }[state]}
    </span>
  )
}

/** Reserved for what must not be overlooked; pushes nothing away when it comes. */
export function Notices() {
  const { value } = connection
  const then = at.value
  return (
    <section class="notices" aria-label="Notices">
      {value.state === 'lost' && (
        <div class="notice lost">
          <p role="alert">Disconnected. What you see was true at {formatTime(value.since)}.</p>
          <p class="number" aria-hidden="true">
            {formatSpan(now.value - value.since)} ago
            {value.nextTry !== null &&
              value.nextTry > now.value &&
              `, trying again in ${formatSpan(value.nextTry - now.value)}`}
          </p>
          <button type="button" onClick={reconnect}>
            Try now
          </button>
        </div>
      )}
      {then && (
        <div class="notice past">
          <p title={formatFull(then)}>
            You see what was known at <b class="number">{formatTime(then)}</b>
            <span class="muted number"> ({formatSpan(now.value - Date.parse(then))} ago)</span>
          </p>
          <button type="button" onClick={() => adjust({ at: null })}>
            Back to now
          </button>
        </div>
      )}
    </section>
  )
}
