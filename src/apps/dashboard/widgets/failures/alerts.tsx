/** Alerts that fire: how severe, what and where, for how long, and who deals with it. */
import { useState } from 'preact/hooks'
import { acknowledgeAlert } from '../../data/actions.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { byWhom, plural } from '../../data/labels.ts'
import { formatAge, formatFull, formatSpan } from '../../data/time.ts'
import { useAnswer } from '../../data/use-query.ts'
import { isOperator } from '../../data/viewer.ts'
import { at, href, moment } from '../../route.ts'
import { type Action, Confirmation } from '../lists/selection.tsx'
import { type Mark, StateMark } from '../states/state-mark.tsx'

const alertFragment = graphql(`
  fragment FiringAlert on Alert {
    id rule severity summary description runbookUrl raisedAt
    rollout { id name }
    acknowledgement { at by comment }
  }
`)

type FiringAlert = FragmentOf<typeof alertFragment>

/** With the variables $rolloutIds (absent: all) and $asOf. */
export const alertsFragment = graphql(
  `
    fragment Alerts on Query {
      firing: alerts(filter: { states: [FIRING], rolloutIds: $rolloutIds }, first: 10, asOf: $asOf) {
        totalCount nodes { ...FiringAlert }
      }
    }
  `,
  [alertFragment],
)

export const severityMarks: Readonly<Record<FiringAlert['severity'], readonly [Mark, string]>> = {
  CRITICAL: ['FAILED', 'Critical'],
  WARNING: ['BROKEN', 'Warning'],
  INFO: ['PENDING', 'Info'],
}

/** As many as a page of the API holds. */
const moreDocument = graphql(
  `
    query MoreAlerts($rolloutIds: [ID!], $asOf: DateTime) {
      alerts(filter: { states: [FIRING], rolloutIds: $rolloutIds }, first: 100, asOf: $asOf) {
        totalCount nodes { ...FiringAlert }
      }
    }
  `,
  [alertFragment],
)

interface AlertsProps {
  readonly of: FragmentOf<typeof alertsFragment>['firing']
  /** Null: of all rollouts, and of the fleet. */
  readonly rolloutIds: readonly string[] | null
}

/** Nothing if no alert fires. */
export function Alerts({ of, rolloutIds }: AlertsProps) {
  const [isMore, setIsMore] = useState(false)
  const variables = { rolloutIds: rolloutIds && [...rolloutIds], asOf: at.value }
  const more = useAnswer(moreDocument, variables, { version: JSON.stringify(of), isOff: !isMore })
  // The number and the list are of one answer.
  const { totalCount, nodes } = isMore && more.data && more.isCurrent ? more.data.alerts : of
  if (totalCount === 0) return null
  const left = totalCount - nodes.length
  return (
    <section class="panel" aria-labelledby="alerts">
      <h2 id="alerts">{plural(totalCount, 'alert')}</h2>
      <ul class="causes">
        {nodes.map((alert) => (
          <AlertLine key={alert.id} of={alert} mayAcknowledge={isOperator.value && at.value === null} />
        ))}
        {left > 0 && (
          <li class="muted">
            {isMore ? (
              `and ${left} more`
            ) : (
              <button type="button" class="quiet" onClick={() => setIsMore(true)}>
                Show more ({left} not shown)
              </button>
            )}
          </li>
        )}
      </ul>
    </section>
  )
}

interface LineProps {
  readonly of: FiringAlert
  readonly mayAcknowledge: boolean
}

function AlertLine({ of: alert, mayAcknowledge }: LineProps) {
  const [isAsked, setIsAsked] = useState(false)
  const { rule, severity, summary, description, runbookUrl, raisedAt, rollout, acknowledgement } = alert
  const [mark, word] = severityMarks[severity]
  const acknowledge: Action = {
    word: 'Acknowledge',
    effect: 'The alert continues to fire. Your comment says who deals with it, and how.',
    reason: 'required',
    run: (_, comment) => acknowledgeAlert(alert.id, comment),
  }
  return (
    <li>
      <span class="marks">
        <StateMark of={mark}>
          {word}: {rule}
        </StateMark>
        <time class="muted" dateTime={raisedAt} title={formatFull(raisedAt)}>
          for {formatSpan(moment.value - Date.parse(raisedAt))}
        </time>
        {mayAcknowledge && !acknowledgement && (
          <button type="button" class="quiet" onClick={() => setIsAsked(true)}>
            Acknowledge…
          </button>
        )}
      </span>
      <span class="cause">
        {summary}
        {rollout && (
          <>
            {' in '}
            {at.value === null ? <a href={href(['rollout', rollout.id])}>{rollout.name}</a> : rollout.name}
          </>
        )}
        , when raised
        {description && ` · ${description}`}
        {runbookUrl && (
          <>
            {' · '}
            <a href={runbookUrl} rel="noreferrer">
              runbook
            </a>
          </>
        )}
      </span>
      {acknowledgement && (
        <small class="muted before">
          Acknowledged <time title={formatFull(acknowledgement.at)}>{formatAge(acknowledgement.at, moment.value)}</time>{' '}
          {byWhom(acknowledgement.by)}
          <q>{acknowledgement.comment}</q>
        </small>
      )}
      {isAsked && <Confirmation action={acknowledge} ids={[]} what={rule} close={() => setIsAsked(false)} />}
    </li>
  )
}
