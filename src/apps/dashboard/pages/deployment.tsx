/** One deployment: its state, its history and its reports. */
import { useEffect, useState } from 'preact/hooks'
import { type FragmentOf, graphql } from '../data/graphql.ts'
import { useResources } from '../data/resource-rows.ts'
import { formatAge, formatFull, formatTime, now } from '../data/time.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { orOutside } from '../data/viewer.ts'
import { at, href, moment } from '../route.ts'
import { Skew } from '../widgets/change-line.tsx'
import { History, historyFragment, Reports, reportsFragment } from '../widgets/deployment/deployment-past.tsx'
import { DesiredState, desiredFragment } from '../widgets/deployment/desired-state.tsx'
import { alikeFragment, Head, headFragment, nameOf } from '../widgets/deployment/head.tsx'
import { Swimlanes } from '../widgets/deployment/swimlanes.tsx'
import { SilentDevice } from '../widgets/gone.tsx'
import { deploymentHref, TargetLink } from '../widgets/links.tsx'
import { ResourceList, useResourceFilter } from '../widgets/lists/resource-list.tsx'
import { Loading } from '../widgets/loading.tsx'
import { ReasonLine } from '../widgets/reason.tsx'
import { Reinstate } from '../widgets/reinstate.tsx'
import { ReadinessMark } from '../widgets/states/readiness.tsx'
import { ConnectivityMark, StateMark, toMark } from '../widgets/states/state-mark.tsx'
import { useTitle } from '../widgets/tab.ts'

const wholeFragment = graphql(
  `
    fragment Whole on Deployment {
      id deploymentId reporter application applicationVersion state derivedState consistent stalled attempt
      ...Head
      ...Desired
      reportedAt receivedAt changedAt revision readiness
      error { code message source }
      components { id name state notUnderstood readiness changedAt error { code message source originalLength } }
      target { __typename id name kind connectivity lastHeardAt ... on Device { deviceId retirement { reason } parent { deviceId name connectivity lastHeardAt } } ... on Cluster { provider } }
      rollout { presentId name }
      instance { instanceId }
      history(last: 100) { ...History }
      reports(last: 50) { ...Reports }
    }
  `,
  [headFragment, desiredFragment, historyFragment, reportsFragment],
)

/**
 * The address names the reporter, or the device that it runs on: mostly one deployment has that name. The lists have the others: `own` one of several,
 * and `closed` one of a retired device.
 */
const deploymentDocument = graphql(
  `
    query Deployment($deploymentId: String!, $reporter: String!, $asOf: DateTime, $isListed: Boolean!) {
      revision
      alike: deploymentGroups(by: ERROR, filter: { deploymentIds: [$deploymentId], reporters: [$reporter], states: [FAILED] }, asOf: $asOf, first: 1) {
        ...Alike
      }
      deployment(deploymentId: $deploymentId, deviceId: $reporter, asOf: $asOf) @skip(if: $isListed) { ...Whole }
      own: deployments(filter: { deploymentIds: [$deploymentId], reporters: [$reporter] }, asOf: $asOf, first: 1) @include(if: $isListed) {
        nodes { ...Whole }
      }
      closed: deployments(filter: { deploymentIds: [$deploymentId], reporters: [$reporter], retired: true }, asOf: $asOf, first: 1) @include(if: $isListed) {
        nodes { ...Whole }
      }
      here: deployments(filter: { deploymentIds: [$deploymentId], deviceIds: [$reporter] }, asOf: $asOf, first: 10) @include(if: $isListed) {
        totalCount nodes { deploymentId reporter }
      }
    }
  `,
  [alikeFragment, wholeFragment],
)

type Deployment = FragmentOf<typeof wholeFragment>

function useDeployment(reporter: string, deploymentId: string) {
  const asOf = at.value
  const [isListed, setIsListed] = useState(false)
  const answer = useLiveAnswer(
    deploymentDocument,
    { deploymentId, reporter, asOf, isListed },
    asOf === null ? { deploymentIds: [deploymentId] } : null,
    { hasContacts: true },
  )
  const { data, isCurrent, error } = answer
  const [closed = null] = data?.closed?.nodes ?? []
  const found = data?.deployment ?? data?.own?.nodes[0] ?? closed
  const others = found ? [] : (data?.here?.nodes ?? [])
  const isNamed = isCurrent && found !== null
  const isOne = isCurrent && others.length === 1
  useEffect(() => {
    if (isListed ? isOne : error?.code === 'AMBIGUOUS' || (isCurrent && !isNamed)) setIsListed(!isListed)
  }, [isListed, isOne, isNamed, isCurrent, error])
  // An answer without the deployment says that there is none only if it is of the chosen time and of the second question.
  const isKnown = found !== null || (isCurrent && isListed && !isOne)
  return { data, found, isClosed: found !== null && found === closed, others, isKnown, error }
}

export function DeploymentPage({ steps: [reporter = '', deploymentId = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const { data, found: deployment, isClosed, others, isKnown, error } = useDeployment(reporter, deploymentId)
  useTitle(deployment ? `${nameOf(deployment)} on ${deployment.target.name}` : null)
  if (!data || !isKnown) return <Loading title={deploymentId} error={error?.code === 'AMBIGUOUS' ? null : error} />
  if (!deployment) return <Missing reporter={reporter} deploymentId={deploymentId} others={others} />
  return (
    <>
      <p class="crumbs">
        <a href={href(['rollout', deployment.rollout.presentId])}>{deployment.rollout.name}</a>
      </p>
      {isClosed && <Closed target={deployment.target} />}
      <Head deployment={deployment} alike={data.alike} />
      {'deviceId' in deployment.target && !isClosed && <SilentDevice device={deployment.target} />}
      <div class="columns">
        <Components deployment={deployment} />
        <Facts deployment={deployment} />
      </div>
      <DesiredState deployment={deployment} />
      <section class="panel" aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <Swimlanes
          changes={deployment.history.nodes}
          to={asOf === null ? now.value : Date.parse(asOf)}
          isPart={deployment.history.totalCount > deployment.history.nodes.length}
        />
      </section>
      {deployment.instance && <InstanceResources deployment={deployment} run={deployment.instance.instanceId} />}
      <History of={deployment.history} />
      {/* An orchestrated deployment has resources instead of reports. */}
      {deployment.reports.totalCount > 0 && <Reports of={deployment.reports} />}
    </>
  )
}

function Closed({ target }: Pick<Deployment, 'target'>) {
  const device = 'retirement' in target && target.retirement ? target : null
  return (
    <p class="note">
      Closed, because its device was retired{device?.retirement && `: ${device.retirement.reason}`}. It is in no other
      lists and counts. {device && <Reinstate deviceId={device.deviceId} />}
    </p>
  )
}

interface MissingProps {
  readonly reporter: string
  readonly deploymentId: string
  /** With this ID, on the device that the address names. */
  readonly others: readonly Pick<Deployment, 'deploymentId' | 'reporter'>[]
}

function Missing({ reporter, deploymentId, others }: MissingProps) {
  return (
    <>
      <h1>
        Deployment “<bdi>{deploymentId}</bdi>”
      </h1>
      {others.length > 0 ? (
        <>
          <p>Several reporters report this deployment on “{reporter}”:</p>
          <ul>
            {others.map((other) => (
              <li key={other.reporter}>
                <a href={deploymentHref(other)}>{other.reporter}</a>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>
          {at.value === null
            ? `“${reporter}” has no deployment with this ID${orOutside.value}. It appears here when it is reported or declared.`
            : `“${reporter}” had no deployment with this ID at this time${orOutside.value}.`}
        </p>
      )}
    </>
  )
}

interface InstanceResourcesProps {
  readonly deployment: Deployment
  readonly run: string
}

function InstanceResources({ deployment: { target }, run }: InstanceResourcesProps) {
  const provider = 'provider' in target ? target.provider : null
  const cluster = provider ? `${provider}+${target.name}` : target.name
  const source = useResources({ of: 'deployment', run, cluster }, useResourceFilter(), at.value)
  return (
    <>
      <h2>Resources</h2>
      <ResourceList source={source} label="Resources of this deployment" />
    </>
  )
}

function Components({ deployment }: { readonly deployment: Deployment }) {
  return (
    <section class="panel" aria-labelledby="components">
      <h2 id="components">
        Components <small class="muted number">{deployment.components.length}</small>
      </h2>
      {deployment.components.length === 0 && <p class="empty">No components reported.</p>}
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
            <ReasonLine of={component.error} />
            {component.notUnderstood && (
              <p class="muted">
                State of an earlier report. The latest one was not understood: <bdi>{component.notUnderstood}</bdi>
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Facts({ deployment }: { readonly deployment: Deployment }) {
  const { target } = deployment
  const parent = 'parent' in target ? target.parent : null
  // Contacts make no revisions, so the past does not have them.
  const isPresent = at.value === null
  return (
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">Details</h2>
      <dl class="facts-list">
        <dt>Runs on</dt>
        <dd>
          <TargetLink target={target} /> <ConnectivityMark of={target.connectivity} />
        </dd>
        {parent && (
          <>
            <dt>Parent device</dt>
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
        <dt>Last report</dt>
        <dd>{isPresent ? <Moment time={deployment.receivedAt} /> : <span class="muted">not recorded</span>}</dd>
        <dt>Reporter's clock</dt>
        <dd>
          {deployment.reportedAt ? <Moment time={deployment.reportedAt} /> : <span class="muted">not reported</span>}{' '}
          {isPresent && <Skew at={deployment.receivedAt} observedAt={deployment.reportedAt} />}
        </dd>
        <dt>Last changed</dt>
        <dd>
          <Moment time={deployment.changedAt} />
        </dd>
        {deployment.adoptedManifestVersion && (
          <>
            <dt>Manifest version</dt>
            <dd class="number">
              {deployment.adoptedManifestVersion}
              {deployment.convergence === 'STALE' && (
                <span class="muted">, target {deployment.targetManifestVersion}</span>
              )}
            </dd>
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
