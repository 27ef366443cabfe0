/** What a deployment is, where it runs, and how it stands. */
import { writeGroup } from '../../data/causes.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatNumber, plural, stateWords } from '../../data/labels.ts'
import { clock, formatSpan, formatTime, now } from '../../data/time.ts'
import { useAnswer } from '../../data/use-query.ts'
import { at, href, moment } from '../../route.ts'
import { changeFragment } from '../change-line.tsx'
import { TargetLink } from '../links.tsx'
import { cutFrom, NoReason, Reason } from '../reason.tsx'
import { ConvergenceMark } from '../states/convergence.tsx'
import { StateMark, toMark } from '../states/state-mark.tsx'
import { Copy } from './copy.tsx'

export const headFragment = graphql(
  `
    fragment Head on Deployment {
      deploymentId reporter application applicationVersion state derivedState consistent stalled attempt convergence
      changedAt revision
      error { code message source originalLength }
      target { id name connectivity ... on Device { deviceId maintenance { reason until } } }
      rollout { name }
      broken: resources(filter: { readiness: [FAILED] }, first: 1) { nodes { id kind name reason message } }
      history(last: 100) { nodes { ...Line } }
    }
  `,
  [changeFragment],
)

/** The group of its error. */
export const alikeFragment = graphql(`fragment Alike on DeploymentGroupConnection { nodes { key detail } }`)

type Deployment = FragmentOf<typeof headFragment>
type Alike = FragmentOf<typeof alikeFragment>

/** The failed deployments with the same error, this one too. */
const alikeDocument = graphql(`
  query CountAlike($filter: DeploymentFilter, $asOf: DateTime) { deploymentCounts(filter: $filter, asOf: $asOf) { total } }
`)

/** The declared application, because a deployment ID is usually an opaque number. */
export const nameOf = ({
  application,
  applicationVersion,
  deploymentId,
}: Pick<Deployment, 'application' | 'applicationVersion' | 'deploymentId'>): string =>
  application === null ? deploymentId : [application, applicationVersion].filter(Boolean).join(' ')

/** Milliseconds between two counts: they are of other deployments, whose changes the page does not follow. */
const refreshInterval = 10_000

interface HeadProps {
  readonly deployment: Deployment
  readonly alike: Alike
}

export function Head({ deployment, alike }: HeadProps) {
  const { error } = deployment
  const [cause] = alike.nodes
  return (
    <section class={`hero state-${deployment.state.toLowerCase()}`} aria-labelledby="deployment">
      <h1 id="deployment" class="named">
        <span>
          <bdi>{nameOf(deployment)}</bdi> on <TargetLink target={deployment.target} />
        </span>
        {deployment.application !== null && <small class="muted">{deployment.deploymentId}</small>}
      </h1>
      <p class="headline marks large" role="status">
        <StateMark of={toMark(deployment.state, error !== null)} />
        {deployment.stalled && <StateMark of="STALLED" />}
        {deployment.convergence !== 'UNKNOWN' && <ConvergenceMark of={deployment.convergence} />}
        {'maintenance' in deployment.target && deployment.target.maintenance && (
          <StateMark of="WAITING">
            {`Device in maintenance until ${formatTime(deployment.target.maintenance.until)}: ${deployment.target.maintenance.reason}`}
          </StateMark>
        )}
        {deployment.target.connectivity === 'OFFLINE' && <StateMark of="OFFLINE">Device offline</StateMark>}
        {!deployment.consistent && deployment.derivedState && (
          <StateMark of="INCONSISTENT">{`Components report ${stateWords[deployment.derivedState].toLowerCase()}`}</StateMark>
        )}
      </p>
      <p class="standing">
        {stateWords[deployment.state]} for {describeDuration(deployment)}
        {deployment.attempt > 1 && `, attempt ${formatNumber(deployment.attempt)}`}
        {cause && <Others key={`${cause.key} ${cause.detail}`} of={cause} />}
        <span class="copies">
          <Copy text={describeIds(deployment)}>Copy IDs</Copy>
          <Copy text={() => addressNow()}>Copy link to this moment</Copy>
        </span>
      </p>
      <Why deployment={deployment} />
    </section>
  )
}

/** Its error, or that of the first resource that does not work. */
function Why({ deployment: { error, state, broken } }: { readonly deployment: Deployment }) {
  const [object] = broken.nodes
  if (error)
    return (
      <Reason {...error} isWaiting={state === 'PENDING'}>
        {[error.source && `from ${error.source}`, cutFrom(error.originalLength)].filter(Boolean).join(' · ')}
      </Reason>
    )
  if (!object) return <NoReason>No error reported.</NoReason>
  return (
    <Reason code={object.reason ?? 'Failed'} message={object.message}>
      <a href={href(['resource', object.id])}>
        {object.kind} {object.name}
      </a>
    </Reason>
  )
}

/** Since its state last changed: later changes were of the error or of components, and there may be more of them than were read. */
function describeDuration({ history, changedAt }: Deployment): string {
  const entered = history.nodes.findLast(
    (change) => change.__typename === 'DeploymentStateChanged' && change.from !== change.to,
  )
  const since = entered ?? history.nodes[0]
  return `${entered || !since ? '' : 'at least '}${formatSpan(moment.value - Date.parse(since?.at ?? changedAt))}`
}

const describeIds = ({ deploymentId, reporter, target, rollout, revision }: Deployment): string =>
  [
    `deployment ${deploymentId}`,
    `reporter ${reporter}`,
    `runs on ${'deviceId' in target ? target.deviceId : target.name}`,
    `rollout ${rollout.name}`,
    `revision ${revision}`,
  ].join('\n')

/** The address of this page, with the time that it shows. */
function addressNow(): string {
  const address = new URL(location.href)
  if (at.value === null) address.searchParams.set('at', new Date(clock()).toISOString())
  return address.href
}

function Others({ of: { key, detail } }: { readonly of: Alike['nodes'][number] }) {
  const group = { by: 'ERROR' as const, key, detail }
  const { data, isCurrent } = useAnswer(
    alikeDocument,
    { filter: { states: ['FAILED'], group }, asOf: at.value },
    { version: at.value === null ? Math.floor(now.value / refreshInterval) : null },
  )
  const count = isCurrent && data ? data.deploymentCounts.total - 1 : 0
  if (count < 1) return null
  return (
    <>
      {', '}
      <a href={href(['deployments'], { state: 'FAILED', group: writeGroup(group) })}>
        {plural(count, 'other')} like it
      </a>
    </>
  )
}
