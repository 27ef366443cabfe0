/** When a rollout is done, and how fast it goes; or why there is no forecast. */
import type { ComponentChildren } from 'preact'
import type { Insight } from '../../data/insight.ts'
import { type Counts, formatNumber } from '../../data/labels.ts'
import { formatFull, formatMinute, formatSpan } from '../../data/time.ts'
import { moment } from '../../route.ts'

type Eta = NonNullable<Insight['eta']>

const basisWords: Readonly<Record<NonNullable<Eta['basis']>, string>> = {
  OWN: 'from its own steps',
  PEERS: 'from earlier rollouts of the application',
  BOTH: 'from its own steps and earlier rollouts',
}

const reasonWords: Readonly<Record<NonNullable<Eta['reason']>, string>> = {
  DONE: 'No deployment is in progress.',
  NOT_STARTED: 'No deployment has started, and there are too few earlier rollouts of the application.',
  TOO_FEW: 'Fewer than 10 steps have ended, here and in earlier rollouts of the application.',
  NO_END: 'It may take longer than 400 days.',
  EXPIRED: 'The stored history does not reach back to where open steps began.',
  TOO_LARGE: 'The rollout has too many changes of state to read.',
  HIDDEN: 'You do not see the whole rollout.',
}

interface ForecastProps {
  readonly of: Insight
  readonly counts: Counts
  /** When anything of the rollout last changed. Null: not known, or the page shows the past. */
  readonly changedAt: string | null
}

/** Its height does not depend on what it shows. */
export function Forecast({ of, counts, changedAt }: ForecastProps) {
  const { eta, pace } = of
  const isEmpty = counts.total === 0
  const isDone = !isEmpty && eta?.reason === 'DONE'
  return (
    <section class="panel" aria-labelledby="forecast">
      <h2 id="forecast">
        {isDone ? 'Outcome' : 'Forecast'} {eta?.basis && <small class="muted">{basisWords[eta.basis]}</small>}
      </h2>
      <dl class="forecast">
        {isDone ? <Finished of={of} changedAt={changedAt} /> : <AllDone of={of} isEmpty={isEmpty} />}
        <MostDone of={of} />
        {pace && !isDone && !isEmpty && (
          <Value term="Pace" note={`more ${paceWords(counts)} than ${formatSpan(pace.span)} ago`}>
            {formatNumber(pace.done)}
          </Value>
        )}
      </dl>
    </section>
  )
}

/** When all deployments are done, or why there is no forecast. Without an answer and an error, the forecast is still being loaded. */
function AllDone({ of: { eta, error }, isEmpty }: { readonly of: Insight; readonly isEmpty: boolean }) {
  if (eta?.at)
    return (
      <>
        <Moment term="All done" at={eta.at} />
        <Value term="Likely between" note="80 % probability">
          {formatRange(eta)}
        </Value>
      </>
    )
  const why = isEmpty ? 'The rollout has no deployments.' : eta ? reasonOf(eta) : (error?.message ?? '')
  return (
    <Value term="All done" note={why} isWide>
      {isEmpty || eta || error ? 'No forecast' : '…'}
    </Value>
  )
}

/** When 95 % of the deployments are done. Why there is no such time is of interest only beside a forecast for all. */
function MostDone({ of: { eta, most } }: { readonly of: Insight }) {
  if (most?.at) return <Moment term="95 % done" at={most.at} />
  if (!eta?.at || !most) return null
  const isDone = most.reason === 'DONE'
  return (
    <Value term="95 % done" note={isDone ? 'Already.' : reasonOf(most)}>
      {isDone ? 'Done' : 'No forecast'}
    </Value>
  )
}

const reasonOf = ({ reason }: Eta): string => (reason ? reasonWords[reason] : '')

/** What `RolloutPace.done` compares. It is no count: a deployment that begins again is one less. */
const paceWords = ({ removing, removed }: Counts): string =>
  removing + removed > 0 ? 'installed, failed or removed' : 'installed or failed'

type FinishedProps = Pick<ForecastProps, 'of' | 'changedAt'>

/** Since when no deployment is in progress. They have not necessarily ended well: some may have failed, and may be retried. */
function Finished({ of: { startedAt, finishedAt }, changedAt }: FinishedProps) {
  if (finishedAt === null)
    return (
      <Value term="Ended" note={reasonWords.DONE} isWide>
        Done
      </Value>
    )
  return (
    <>
      <Since term="Nothing in progress since" at={finishedAt} />
      {startedAt !== null && (
        <Value term="Took" note="from the first start to the last end">
          {formatSpan(Date.parse(finishedAt) - Date.parse(startedAt))}
        </Value>
      )}
      {/* Such as a component or a version: the chart goes on until then. */}
      {changedAt !== null && Date.parse(changedAt) - Date.parse(finishedAt) >= 1_000 && (
        <Since term="Last change" at={changedAt} />
      )}
    </>
  )
}

function Since({ term, at }: { readonly term: string; readonly at: string }) {
  return (
    <Value term={term} note={`${formatSpan(moment.value - Date.parse(at))} ago`}>
      <time dateTime={at} title={formatFull(at)}>
        {formatMinute(Date.parse(at))}
      </time>
    </Value>
  )
}

function Moment({ term, at }: { readonly term: string; readonly at: string }) {
  const left = Date.parse(at) - moment.value
  return (
    <Value term={term} note={left > 0 ? `in ${formatSpan(left)}` : `expected ${formatSpan(left)} ago`}>
      <time dateTime={at} title={formatFull(at)}>
        {formatMinute(Date.parse(at))}
      </time>
    </Value>
  )
}

/** Milliseconds. A time further away has its date, unless it is today: `08:04` may be that of tomorrow. */
const halfDay = 43_200_000

function formatRange({ low, high }: Eta): string {
  const [from, to] = [low, high].map((time) => (time === null ? '' : formatMinute(Date.parse(time), halfDay)))
  return from === to ? `${from}` : `${from} – ${to}`
}

interface ValueProps {
  readonly term: string
  readonly note: string
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

const Value = ({ term, note, isWide = false, children }: ValueProps) => (
  <div class={isWide ? 'wide' : undefined}>
    <dt>{term}</dt>
    <dd>
      <b class="number">{children}</b> <small class="muted number">{note}</small>
    </dd>
  </div>
)
