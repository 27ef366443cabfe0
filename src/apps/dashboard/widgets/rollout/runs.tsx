/** What an orchestrator did with a rollout: its runs, and the actions of users. */
import { graphql, type ResultOf } from '../../data/graphql.ts'
import { formatNumber, formatStatus, plural } from '../../data/labels.ts'
import { formatAge, formatFull, formatTime } from '../../data/time.ts'
import { useLiveAnswer } from '../../data/use-query.ts'
import { at, href, moment } from '../../route.ts'
import { useFilters } from '../lists/filters.tsx'
import { ReadinessMark } from '../states/readiness.tsx'

const runsDocument = graphql(`
  query Runs($id: ID!, $asOf: DateTime) {
    revision
    rollout(id: $id, asOf: $asOf) {
      kind state
      actions { at state instanceId instanceRevision }
      instances { id instanceId status readiness revisionNumber resourceCounts { total } }
      instance { instanceId }
    }
  }
`)

type Orchestrated = NonNullable<ResultOf<typeof runsDocument>['rollout']>

interface Runs {
  readonly rollout: Orchestrated | null
  /** The selected run. Null: all runs of a resource bundle, or no run is known yet. */
  readonly chosen: string | null
}

const kinds = [
  'LIFECYCLE_ACTION_RECORDED',
  'INSTANCE_STATUS_CHANGED',
  'RESOURCE_STATUS_CHANGED',
  'DEPLOYMENT_REVISED',
] as const

export function useRuns(id: string): Runs {
  const asOf = at.value
  const { data } = useLiveAnswer(
    runsDocument,
    { id, asOf },
    asOf === null ? { rolloutIds: [id], kinds: [...kinds] } : null,
  )
  const asked = useFilters().one('run')
  const rollout = data?.rollout ?? null
  const isKnown = rollout?.instances.some(({ instanceId }) => instanceId === asked)
  const current = rollout?.kind === 'RESOURCE_BUNDLE' ? null : (rollout?.instance?.instanceId ?? null)
  return { rollout, chosen: isKnown ? asked : current }
}

/** Newest first. Earlier runs keep their details. */
export function RunList({ id, runs: { rollout, chosen } }: { readonly id: string; readonly runs: Runs }) {
  if (!rollout) return null
  const instances = rollout.instances.toReversed()
  return (
    <section class="panel" aria-labelledby="runs">
      <h2 id="runs">
        Runs <small class="muted number">{formatNumber(instances.length)}</small>
      </h2>
      {instances.length === 0 && <p class="empty">Not instantiated yet.</p>}
      <ul class="runs">
        {instances.map((run) => (
          <li key={run.id}>
            <a
              href={href(['rollout', id], { run: run.instanceId })}
              aria-current={run.instanceId === chosen ? 'true' : undefined}
            >
              {run.instanceId}
            </a>
            <span class="marks">
              <span>{formatStatus(run.status)}</span>
              <ReadinessMark of={run.readiness} />
            </span>
            <small class="muted number">
              {plural(run.resourceCounts.total, 'resource')}
              {run.revisionNumber > 1 && `, revision ${formatNumber(run.revisionNumber)}`}
            </small>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Newest first. */
export function Actions({ runs: { rollout } }: { readonly runs: Runs }) {
  if (!rollout || rollout.actions.length === 0) return null
  return (
    <section class="panel" aria-labelledby="actions">
      <h2 id="actions">Lifecycle actions</h2>
      <ol class="actions">
        {rollout.actions.toReversed().map((action, index) => (
          <li key={rollout.actions.length - index}>
            <b>{formatStatus(action.state)}</b>
            {action.instanceId && <span class="muted run">{action.instanceId}</span>}
            <time class="muted number" dateTime={action.at} title={formatFull(action.at)}>
              {formatTime(action.at)} <span class="age">{formatAge(action.at, moment.value)}</span>
            </time>
          </li>
        ))}
      </ol>
    </section>
  )
}
