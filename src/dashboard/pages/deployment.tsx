/** One deployment: what it is, everything that happened to it, and what its reporter said. */
import { useState } from 'preact/hooks'
import { useLiveAnswer } from '../answers.ts'
import { ChangeLine, changeFragment, Skew } from '../change-line.tsx'
import { TargetLink } from '../deployment-table.tsx'
import { graphql, type ResultOf } from '../graphql.ts'
import { ReadinessMark } from '../readiness.tsx'
import { useResources } from '../resource-rows.ts'
import { ResourceList } from '../resources.tsx'
import { at, href, moment } from '../route.ts'
import { ConnectivityMark, StateMark, toMark } from '../state-mark.tsx'
import { Swimlanes } from '../swimlanes.tsx'
import { formatAge, formatFull, formatTime, now } from '../time.ts'
import { Trouble } from '../trouble.tsx'
import { formatNumber, stateWords } from '../words.ts'

const deploymentDocument = graphql(
  `
    query Deployment($deploymentId: String!, $reporter: String, $asOf: DateTime) {
      revision
      deployment(deploymentId: $deploymentId, deviceId: $reporter, asOf: $asOf) {
        id deploymentId reporter application applicationVersion state derivedState consistent stalled attempt adoptedManifestVersion
        reportedAt receivedAt changedAt revision readiness
        error { code message source }
        components { id name state readiness changedAt error { code message source } }
        target { __typename id name kind connectivity lastHeardAt ... on Device { deviceId parent { deviceId name connectivity } } }
        rollout { id name kind }
        instance { instanceId }
        history(last: 100) { totalCount nodes { ...Line } }
        reports(last: 50) { totalCount nodes { id verdict staleBy reportedAt receivedAt sequence state dialect revision } }
      }
    }
  `,
  [changeFragment],
)

type Deployment = NonNullable<ResultOf<typeof deploymentDocument>['deployment']>

export function DeploymentPage({ steps: [reporter = '', deploymentId = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const { data, error } = useLiveAnswer(
    deploymentDocument,
    { deploymentId, reporter, asOf },
    asOf === null ? { deploymentIds: [deploymentId] } : null,
  )
  if (error && !data) return <Trouble error={error} />
  if (!data) return <h1 aria-busy="true">{deploymentId}</h1>
  const { deployment } = data
  if (!deployment)
    return (
      <>
        <h1>{deploymentId}</h1>
        <p>
          {reporter} has not reported it{asOf && ' by then'}. It will appear here when it does.
        </p>
      </>
    )
  return (
    <>
      <p class="crumbs">
        <a href={href(['rollout', deployment.rollout.id])}>{deployment.rollout.name}</a>
      </p>
      <Head deployment={deployment} />
      <div class="columns">
        <Components deployment={deployment} />
        <Facts deployment={deployment} />
      </div>
      <section class="panel" aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <Swimlanes
          changes={deployment.history.nodes}
          to={asOf === null ? now.value : Date.parse(asOf)}
          isPart={deployment.history.totalCount > deployment.history.nodes.length}
        />
      </section>
      {deployment.instance && <InstanceResources deployment={deployment} run={deployment.instance.instanceId} />}
      <History deployment={deployment} />
      {/* An orchestrator's facts are its resources: nothing was reported of the whole. */}
      {deployment.reports.totalCount > 0 && <Reports deployment={deployment} />}
    </>
  )
}

interface InstanceResourcesProps {
  readonly deployment: Deployment
  readonly run: string
}

function InstanceResources({ deployment: { deploymentId, reporter, target }, run }: InstanceResourcesProps) {
  const source = useResources({ of: 'deployment', deploymentId, reporter, run, target: target.id }, at.value)
  return (
    <>
      <h2>Resources</h2>
      <ResourceList source={source} label="Its resources" empty="No resource is like that." />
    </>
  )
}

function Head({ deployment }: { readonly deployment: Deployment }) {
  const { error } = deployment
  return (
    <section class={`hero state-${deployment.state.toLowerCase()}`} aria-labelledby="deployment">
      <h1 id="deployment" class="named">
        {deployment.deploymentId}
        <small class="muted">
          {[deployment.application, deployment.applicationVersion].filter(Boolean).join(' ') || 'undeclared'} on{' '}
          <TargetLink target={deployment.target} />
        </small>
      </h1>
      <p class="headline marks large" role="status">
        <StateMark of={toMark(deployment.state, error !== null)} />
        {deployment.stalled && <StateMark of="STALLED" />}
        {deployment.target.connectivity === 'OFFLINE' && <StateMark of="OFFLINE">Device offline</StateMark>}
        {!deployment.consistent && deployment.derivedState && (
          <StateMark of="INCONSISTENT">{`Its components say ${stateWords[deployment.derivedState].toLowerCase()}`}</StateMark>
        )}
      </p>
      {error && <ErrorBox error={error} isReason={deployment.state === 'PENDING'} />}
    </section>
  )
}

interface ErrorBoxProps {
  readonly error: NonNullable<Deployment['error']>
  readonly isReason: boolean
}

function ErrorBox({ error, isReason }: ErrorBoxProps) {
  return (
    <div class={`error-box${isReason ? ' reason' : ''}`}>
      <code>{error.code}</code>
      {error.source && <small class="muted">from {error.source}</small>}
      <p>{error.message}</p>
    </div>
  )
}

function Components({ deployment }: { readonly deployment: Deployment }) {
  return (
    <section class="panel" aria-labelledby="components">
      <h2 id="components">
        Components <small class="muted number">{deployment.components.length}</small>
      </h2>
      {deployment.components.length === 0 && <p class="empty">It says nothing of components.</p>}
      <ul class="component-list">
        {deployment.components.map((component) => (
          <li key={component.id}>
            <span class="component">{component.name}</span>
            <span class="marks">
              <StateMark of={toMark(component.state, component.error !== null)} />
              {component.readiness !== 'UNKNOWN' && <ReadinessMark of={component.readiness} />}
            </span>
            <time class="muted number" dateTime={component.changedAt} title={formatFull(component.changedAt)}>
              {formatAge(component.changedAt, moment.value)}
            </time>
            {component.error && <ErrorBox error={component.error} isReason={component.state === 'PENDING'} />}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Facts({ deployment }: { readonly deployment: Deployment }) {
  const { target } = deployment
  const parent = 'parent' in target ? target.parent : null
  return (
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl class="facts-list">
        <dt>Where</dt>
        <dd>
          <TargetLink target={target} /> <ConnectivityMark of={target.connectivity} />
        </dd>
        {parent && (
          <>
            <dt>Behind</dt>
            <dd>
              <a href={href(['device', parent.deviceId])}>{parent.name}</a>{' '}
              <ConnectivityMark of={parent.connectivity} />
            </dd>
          </>
        )}
        <dt>Reported by</dt>
        <dd>{deployment.reporter}</dd>
        <dt>Attempt</dt>
        <dd class="number">{deployment.attempt}</dd>
        <dt>Last heard</dt>
        <dd>
          <Moment time={deployment.receivedAt} />
        </dd>
        <dt>By its own clock</dt>
        <dd>
          {deployment.reportedAt ? (
            <Moment time={deployment.reportedAt} />
          ) : (
            <span class="muted">it tells no time</span>
          )}{' '}
          <Skew at={deployment.receivedAt} observedAt={deployment.reportedAt} />
        </dd>
        <dt>Last changed</dt>
        <dd>
          <Moment time={deployment.changedAt} />
        </dd>
        {deployment.adoptedManifestVersion && (
          <>
            <dt>Manifest version</dt>
            <dd class="number">{deployment.adoptedManifestVersion}</dd>
          </>
        )}
        <dt>Revision</dt>
        <dd class="number">{deployment.revision}</dd>
      </dl>
    </section>
  )
}

function Moment({ time }: { readonly time: string }) {
  return (
    <time class="number" dateTime={time} title={formatFull(time)}>
      {formatTime(time)} <span class="muted">{formatAge(time, moment.value)}</span>
    </time>
  )
}

/** Newest first; each attempt under a line of its own. */
function History({ deployment }: { readonly deployment: Deployment }) {
  const { nodes, totalCount } = deployment.history
  const more = useMore()
  let attempt = 1
  const entries = nodes.map((change) => {
    const began = change.__typename === 'DeploymentStateChanged' && change.attempt > attempt ? change.attempt : null
    if (change.__typename === 'DeploymentStateChanged') attempt = change.attempt
    return { change, began }
  })
  return (
    <section class="panel" aria-labelledby="history">
      <h2 id="history">
        History <small class="muted number">{formatNumber(totalCount)} changes, newest first</small>
      </h2>
      <ol class="changes own">
        {entries
          .toReversed()
          .slice(0, more.count(24))
          .map(({ change, began }) => (
            <li
              key={change.revision}
              class={began ? 'attempt' : undefined}
              data-attempt={began ? `Attempt ${began} began` : undefined}
            >
              <ChangeLine change={change} isOwn />
            </li>
          ))}
      </ol>
      <more.Button of={nodes.length} at={24} />
      {more.isAll && totalCount > nodes.length && <p class="muted">Older ones are in the API's history.</p>}
    </section>
  )
}

const verdictWords = {
  APPLIED: 'Applied',
  UNCHANGED: 'Repeat',
  STALE: 'Stale',
} as const

function Reports({ deployment }: { readonly deployment: Deployment }) {
  const { nodes, totalCount } = deployment.reports
  const more = useMore()
  return (
    <section class="panel" aria-labelledby="reports">
      <h2 id="reports">
        Reports <small class="muted number">{formatNumber(totalCount)} kept, newest first</small>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <div class="scroll" tabIndex={0} role="region" aria-label="Reports">
        <table>
          <thead>
            <tr>
              <th scope="col">Received</th>
              <th scope="col">By its clock</th>
              <th scope="col">Says</th>
              <th scope="col">Verdict</th>
              <th scope="col">Sequence</th>
              <th scope="col">Dialect</th>
            </tr>
          </thead>
          <tbody>
            {nodes
              .toReversed()
              .slice(0, more.count(12))
              .map((report) => (
                <tr key={report.id} class={report.verdict === 'STALE' ? 'stale' : undefined}>
                  <td class="number">
                    <time dateTime={report.receivedAt} title={formatFull(report.receivedAt)}>
                      {formatTime(report.receivedAt)}
                    </time>
                  </td>
                  <td class="number">
                    {report.reportedAt ? (
                      <>
                        {formatTime(report.reportedAt)} <Skew at={report.receivedAt} observedAt={report.reportedAt} />
                      </>
                    ) : (
                      <span class="muted">–</span>
                    )}
                  </td>
                  <td>
                    <StateMark of={report.state} />
                  </td>
                  <td>
                    {verdictWords[report.verdict]}
                    {report.staleBy && <small class="muted"> older by {report.staleBy}</small>}
                  </td>
                  <td class="number">{report.sequence ?? <span class="muted">–</span>}</td>
                  <td class="muted">{report.dialect}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      <more.Button of={nodes.length} at={12} />
    </section>
  )
}

/** The newest first, the others when they are wanted. */
function useMore() {
  const [isAll, setIsAll] = useState(false)
  const Button = ({ of, at }: { readonly of: number; readonly at: number }) =>
    of > at && !isAll ? (
      <button type="button" class="quiet" onClick={() => setIsAll(true)}>
        Show {formatNumber(of - at)} more
      </button>
    ) : null
  return { isAll, count: (most: number): number => (isAll ? Number.POSITIVE_INFINITY : most), Button }
}
