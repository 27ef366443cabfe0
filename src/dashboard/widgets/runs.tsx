/** What an orchestrator did with a rollout: its runs, the actions of users, and each application on each cluster. */
import { useMemo } from 'preact/hooks'
import type { Row } from '../data/deployment-rows.ts'
import { graphql, type ResultOf } from '../data/graphql.ts'
import { formatNumber, formatStatus, plural, type SyncStatus } from '../data/labels.ts'
import type { Resource } from '../data/resource-rows.ts'
import { formatAge, formatFull, formatTime } from '../data/time.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { at, href, moment } from '../route.ts'
import { TargetLink } from './deployment-table.tsx'
import { useFilters } from './filters.tsx'
import { countReadiness, ReadinessBar, ReadinessMark, SyncMark } from './readiness.tsx'
import { StateMark, toMark } from './state-mark.tsx'

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

export interface Runs {
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

interface MatrixProps {
  readonly id: string
  readonly run: string | null
  /** One for each cluster, with its applications as components. */
  readonly deployments: readonly Row[]
  readonly resources: readonly Resource[]
}

/** Clusters × applications: whether each is applied and works. */
export function Matrix({ id, run, deployments, resources }: MatrixProps) {
  const apps = useMemo(
    () => [...new Set(deployments.flatMap(({ components }) => components.map(({ name }) => name)))].sort(),
    [deployments],
  )
  const byCell = useMemo(
    () => Map.groupBy(resources, ({ target, component }) => `${target.id} ${component}`),
    [resources],
  )
  if (deployments.length === 0 || apps.length === 0) return null
  const address = (app: string, cluster: string): string => href(['rollout', id], { run, app, cluster })
  return (
    <section class="panel" aria-labelledby="matrix">
      <h2 id="matrix">
        Clusters and applications{' '}
        <small class="muted number">
          {formatNumber(deployments.length)} × {formatNumber(apps.length)}
        </small>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <div class="scroll" tabIndex={0} role="region" aria-label="Clusters and applications">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Cluster</th>
              {apps.map((app) => (
                <th scope="col" key={app}>
                  {app}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {deployments.slice(0, mostClusters).map((deployment) => (
              <tr key={deployment.id}>
                <th scope="row">
                  <TargetLink target={deployment.target} />
                  {deployment.target.connectivity !== 'UNKNOWN' && deployment.target.connectivity !== 'ONLINE' && (
                    <StateMark of={deployment.target.connectivity} isBare />
                  )}
                </th>
                {apps.map((app) => {
                  const component = deployment.components.find(({ name }) => name === app)
                  return (
                    <td key={app}>
                      {component && (
                        <App
                          component={component}
                          resources={byCell.get(`${deployment.target.id} ${app}`) ?? []}
                          address={address(app, deployment.target.name)}
                          label={`${app} on ${deployment.target.name}`}
                        />
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {deployments.length > mostClusters && (
        <p class="muted">{plural(deployments.length - mostClusters, 'more cluster')} in the lists below.</p>
      )}
    </section>
  )
}

const mostClusters = 60

interface AppProps {
  readonly component: Row['components'][number]
  readonly resources: readonly Resource[]
  readonly address: string
  readonly label: string
}

function App({ component, resources, address, label }: AppProps) {
  const counts = countReadiness(resources)
  const shown = resources.length - counts.UNKNOWN
  const sync = (['FAILED', 'RETRYING', 'PENDING', 'DELETED'] as const satisfies readonly SyncStatus[]).filter(
    (status) => resources.some((resource) => resource.sync === status),
  )
  return (
    <a href={address} class="app">
      <span class="unseen">{label}:</span>
      <span class="marks">
        <StateMark of={toMark(component.state, component.error !== null)} />
        {component.readiness !== 'UNKNOWN' && <ReadinessMark of={component.readiness} />}
        {sync.map((status) => (
          <SyncMark key={status} of={status} />
        ))}
      </span>
      <ReadinessBar counts={counts} label="Resources" />
      <span class="number muted">
        {shown > 0
          ? `${formatNumber(counts.READY)} of ${formatNumber(shown)} ready`
          : `${plural(resources.length, 'resource')}, none observed`}
      </span>
    </a>
  )
}
