/** One change as a line: time, subject, previous and new state, and reason. */
import type { ComponentChildren } from 'preact'
import { type FragmentOf, graphql } from '../data/graphql.ts'
import { byWhom, convergenceWords, type DeploymentState, formatStatus } from '../data/labels.ts'
import { formatFull, formatSpan, formatTime } from '../data/time.ts'
import { href } from '../route.ts'
import { deploymentHref } from './links.tsx'
import { Name } from './name.tsx'
import { ConvergenceMark } from './states/convergence.tsx'
import { ReadinessMark, SyncMark } from './states/readiness.tsx'
import { ConnectivityMark, StateMark, toMark } from './states/state-mark.tsx'

const whose = graphql(
  `fragment Whose on Deployment { id deploymentId reporter application applicationVersion target { name } }`,
)

export const changeFragment = graphql(
  `
    fragment Line on Change {
      __typename revision at observedAt
      ... on DeploymentChange { deployment { ...Whose } }
      ... on DeploymentStateChanged { from to attempt error { code message source } }
      ... on ComponentStateChanged { component from to error { code message source } }
      ... on ComponentRemoved { component from }
      ... on DeploymentMoved { fromTarget { name } toTarget { name } }
      ... on DeploymentRevised { fromApplication fromApplicationVersion fromRollout { name } application applicationVersion }
      ... on DeploymentStalled { stalled }
      ... on ConvergenceChanged { fromConvergence toConvergence targetManifestVersion documentDigest }
      ... on ConnectivityChanged { fromConnectivity toConnectivity target { name ... on Device { deviceId } } }
      ... on DeviceRetired { retiredFor: reason replacedBy { name } target: device { name deviceId } }
      ... on AlertRaised { alert { rule summary } }
      ... on AlertResolved { alert { rule } resolution }
      ... on AlertAcknowledged { alert { rule } acknowledgedBy comment }
      ... on DeviceReinstated { target: device { name deviceId } }
      ... on MaintenanceStarted { maintenanceReason: reason until target { name ... on Device { deviceId } } }
      ... on MaintenanceEnded { target { name ... on Device { deviceId } } }
      ... on MaintenancePlanned { maintenanceReason: reason decidedBy beginsAt }
      ... on MaintenanceCancelled { maintenanceReason: reason decidedBy }
      ... on InstanceStatusChanged { fromStatus toStatus instance { instanceId } }
      ... on LifecycleActionRecorded { action { state instanceId } rollout { id name } }
      ... on RolloutLabelsChanged { toLabels { key value } rollout { id name } }
      ... on ResourceStatusChanged {
        component fromSync toSync fromPresence toPresence fromReadiness toReadiness reason
        resource { id kind name target { name } }
      }
    }
  `,
  [whose],
)

export type Change = FragmentOf<typeof changeFragment>

interface ChangeLineProps {
  readonly change: Change
  /** The list is about one deployment, so its name is omitted. */
  readonly isOwn?: boolean
  /** The list is about one device, so the device is named only where a deployment runs elsewhere. */
  readonly device?: string | undefined
}

export function ChangeLine({ change, isOwn = false, device }: ChangeLineProps) {
  const error = 'error' in change ? change.error : null
  return (
    <>
      <time class="number" dateTime={change.at} title={`${formatFull(change.at)}, revision ${change.revision}`}>
        {formatTime(change.at)}
      </time>
      {'deployment' in change && !isOwn && <Whose name={change.deployment.target.name} device={device} />}
      {'target' in change && <Whose name={change.target.name} device={device} />}
      {'resource' in change && !isOwn && <Whose name={change.resource.target.name} device={device} />}
      {'instance' in change && !isOwn && <span class="whose muted">run</span>}
      {'rollout' in change && !isOwn && <span class="whose muted">rollout</span>}
      {'alert' in change && <span class="whose muted">alert</span>}
      {'decidedBy' in change && <span class="whose muted">maintenance</span>}
      <span class="what">
        {'target' in change && 'deviceId' in change.target && (
          <a href={href(['device', change.target.deviceId])}>device</a>
        )}
        {'deployment' in change && !isOwn && (
          <a href={deploymentHref(change.deployment)} title={change.deployment.deploymentId}>
            <Name>{change.deployment.application ?? change.deployment.deploymentId}</Name>
          </a>
        )}
        {'resource' in change && !isOwn && (
          <a href={href(['resource', change.resource.id])} title={change.resource.kind}>
            {change.resource.name}
          </a>
        )}
        {'instance' in change && <span class="component">{change.instance.instanceId}</span>}
        {'rollout' in change && <a href={href(['rollout', change.rollout.id])}>{change.rollout.name}</a>}
        {'component' in change && <span class="component">{change.component}</span>}
        {'alert' in change && <span>{change.alert.rule}</span>}
        {'decidedBy' in change && <span>{change.maintenanceReason}</span>}
        {isOwn && 'deployment' in change && !('component' in change) && <span class="muted">deployment</span>}
      </span>
      <span class="how">
        {tell(change)}
        {'attempt' in change && change.attempt > 1 && !isOwn && <small class="muted">attempt {change.attempt}</small>}
        <Skew at={change.at} observedAt={change.observedAt} />
        {error && (
          <span class="error-text">
            <code>
              <bdi>{error.code}</bdi>
            </code>{' '}
            <bdi>{error.message}</bdi>
          </span>
        )}
      </span>
    </>
  )
}

const Whose = ({ name, device }: { readonly name: string; readonly device: string | undefined }) =>
  name === device ? null : (
    <span class="whose">
      <Name>{name}</Name>
    </span>
  )

function tell(change: Change): ComponentChildren {
  switch (change.__typename) {
    case 'DeploymentStateChanged':
    case 'ComponentStateChanged':
      return <Step from={change.from} to={change.to} hasError={change.error !== null} />
    case 'ComponentRemoved':
      return 'removed from the deployment'
    case 'DeploymentMoved':
      return `moved from ${change.fromTarget?.name ?? 'an unknown target'} to ${change.toTarget.name}`
    case 'DeploymentRevised':
      return describeRevision(change)
    case 'DeploymentForgotten':
      return 'forgotten'
    case 'DeploymentStalled':
      return change.stalled ? <StateMark of="STALLED" /> : 'no longer stalled'
    case 'ConvergenceChanged':
      return <ConvergenceStep change={change} />
    case 'ConnectivityChanged':
      return <ConnectivityMark of={change.toConnectivity} />
    case 'DeviceRetired':
      return `retired: ${change.retiredFor}${change.replacedBy ? `; replaced by ${change.replacedBy.name}` : ''}`
    case 'DeviceReinstated':
      return 'back in service'
    case 'MaintenanceStarted':
      return `in maintenance until ${formatTime(change.until)}: ${change.maintenanceReason}`
    case 'MaintenanceEnded':
      return 'maintenance ended'
    case 'MaintenancePlanned':
      return `${['planned', byWhom(change.decidedBy)].filter(Boolean).join(' ')}, from ${formatTime(change.beginsAt)}`
    case 'MaintenanceCancelled':
      return ['ended', byWhom(change.decidedBy)].filter(Boolean).join(' ')
    case 'AlertRaised':
      return (
        <>
          <StateMark of="BROKEN">Raised</StateMark>
          <span class="error-text">{change.alert.summary}</span>
        </>
      )
    case 'AlertResolved':
      return change.resolution === 'RECOVERED' ? 'resolved' : 'resolved, because its rule was changed or deleted'
    case 'AlertAcknowledged':
      return `${['acknowledged', byWhom(change.acknowledgedBy)].filter(Boolean).join(' ')}: ${change.comment}`
    case 'InstanceStatusChanged':
      return `is ${formatStatus(change.toStatus).toLowerCase()}`
    case 'LifecycleActionRecorded':
      return formatStatus(change.action.state).toLowerCase()
    case 'RolloutLabelsChanged':
      return `labels: ${change.toLabels.map(({ key, value }) => `${key}=${value}`).join(', ') || 'none'}`
    case 'ResourceStatusChanged':
      return <ResourceStep change={change} />
    default:
      return 'changed'
  }
}

/** What of a deployment was revised. An orchestrated one is also revised with the readiness of its resources, and as its run becomes the current one. */
function describeRevision(change: Extract<Change, { __typename: 'DeploymentRevised' }>): string {
  const [was, is] = [
    [change.fromApplication, change.fromApplicationVersion],
    [change.application, change.applicationVersion],
  ].map((product) => product.filter(Boolean).join(' '))
  const parts = [
    ...(change.fromRollout ? [`moved from rollout ${change.fromRollout.name}`] : []),
    ...(was === is ? [] : [`application: ${[was, is || 'none'].filter(Boolean).join(' → ')}`]),
  ]
  return parts.join('; ') || (is ? 'readiness or current run changed' : 'moved to another rollout')
}

/** If only the target version changed, the line shows nothing else. */
function ConvergenceStep({ change }: { readonly change: Extract<Change, { __typename: 'ConvergenceChanged' }> }) {
  const { fromConvergence: from, toConvergence: to, targetManifestVersion: target, documentDigest } = change
  const targetText =
    target === null
      ? 'no target version'
      : documentDigest === null
        ? `removal requested in version ${target}`
        : `target version ${target}`
  return (
    <>
      {from !== to && (
        <span class="step">
          <span class="muted">{convergenceWords[from].toLowerCase()}</span>
          <span aria-hidden="true">→</span>
          <span class="unseen">to</span>
          <ConvergenceMark of={to} />
        </span>
      )}
      <span class={from === to ? undefined : 'muted'}>{targetText}</span>
    </>
  )
}

function ResourceStep({ change }: { readonly change: Extract<Change, { __typename: 'ResourceStatusChanged' }> }) {
  const { fromSync, toSync, fromPresence, toPresence, fromReadiness, toReadiness, reason } = change
  const isSynced = toSync && toSync !== fromSync
  const isGone = toPresence === 'NOT_PRESENT' && fromPresence === 'PRESENT'
  const isOther = toReadiness !== fromReadiness && (fromReadiness || toReadiness !== 'UNKNOWN')
  // A reason that changed alone has its state before it.
  const hasReadiness = isOther || (reason && !isSynced && !isGone)
  return (
    <>
      {isSynced && <SyncMark of={toSync} />}
      {toReadiness && hasReadiness && <ReadinessMark of={toReadiness} />}
      {isGone && <span>removed from the cluster</span>}
      {reason && toReadiness !== 'READY' && <span class="error-text">{reason}</span>}
    </>
  )
}

interface StepProps {
  readonly from: DeploymentState | null
  readonly to: DeploymentState
  readonly hasError: boolean
}

function Step({ from, to, hasError }: StepProps) {
  return (
    <span class="step">
      {from && from !== to && (
        <>
          <span class="muted">{from.toLowerCase()}</span>
          <span aria-hidden="true">→</span>
          <span class="unseen">to</span>
        </>
      )}
      <StateMark of={toMark(to, hasError)} />
    </span>
  )
}

/** The offset of the reporter's clock, if it is more than the time of transmission. */
export function Skew({ at, observedAt }: { readonly at: string; readonly observedAt: string | null }) {
  if (!observedAt) return null
  const skew = Date.parse(observedAt) - Date.parse(at)
  if (Math.abs(skew) < 2_000) return null
  return (
    <small class="skew" title={`Reporter's clock: ${formatFull(observedAt)}`}>
      by its clock {formatSpan(skew)} {skew < 0 ? 'earlier' : 'later'}
    </small>
  )
}
