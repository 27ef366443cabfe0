/** The connection's status, and the age of what is shown when it is not live. */
import { connection, reconnect } from './data/api.ts'
import { isFailing, isLoadingPast } from './data/loading.ts'
import { formatFull, formatSpan, formatTime, now, zoneAt } from './data/time.ts'
import { adjust, at, chosenTime } from './route.ts'

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

/** Important notices. Their space is reserved, so that a new notice moves nothing. */
export function Notices() {
  const { value } = connection
  const then = chosenTime.value
  return (
    <section class="notices" aria-label="Notices">
      {value.state === 'lost' && (
        <div class="notice lost">
          <p role="alert">
            {value.isBlocked
              ? 'No live updates: a proxy or the server refuses the WebSocket. Reload the page to see newer data. Retrying automatically.'
              : "Can't reach the server. Retrying automatically."}
            {!value.isBlocked && value.since !== null && ` Last update at ${formatTime(value.since)}.`}
          </p>
          <p class="number" aria-hidden="true">
            {[
              ...(value.since === null || value.isBlocked ? [] : [`${formatSpan(now.value - value.since)} ago`]),
              ...(value.nextTry !== null && value.nextTry > now.value
                ? [`next try in ${formatSpan(value.nextTry - now.value)}`]
                : []),
            ].join(', ')}
          </p>
          <button type="button" onClick={reconnect}>
            Retry now
          </button>
        </div>
      )}
      {value.state !== 'lost' && isFailing.value && (
        <div class="notice lost">
          <p role="alert">The server does not answer, so this may be outdated. Retrying automatically.</p>
        </div>
      )}
      {then && (
        <div class="notice past">
          <p title={formatFull(then)}>
            {at.value === null
              ? 'This page has no past. It shows the present. Chosen: '
              : `${isLoadingPast() ? 'Loading' : 'Showing'} the state at `}
            <b class="number">{formatTime(then)}</b> {zoneAt(Date.parse(then))}
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
