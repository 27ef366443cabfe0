/** One change in a sentence: when, what, from which state to which, and why. */
import type { ComponentChildren } from 'preact'
import { deploymentHref } from './deployment-table.tsx'
import { type FragmentOf, graphql } from './graphql.ts'
import { href } from './route.ts'
import { ConnectivityMark, StateMark, toMark } from './state-mark.tsx'
import { formatFull, formatSpan, formatTime } from './time.ts'
import type { DeploymentState } from './words.ts'

const whose = graphql(
  `fragment Whose on Deployment { id deploymentId reporter application applicationVersion target { name } }`,
)

export const changeFragment = graphql(
  `
    fragment Line on Change {
      __typename revision at observedAt
      ... on DeploymentStateChanged { from to attempt error { code message source } deployment { ...Whose } }
      ... on ComponentStateChanged { component from to error { code message source } deployment { ...Whose } }
      ... on ComponentRemoved { component from deployment { ...Whose } }
      ... on DeploymentMoved { fromTarget { name } toTarget { name } deployment { ...Whose } }
      ... on DeploymentRevised { application applicationVersion deployment { ...Whose } }
      ... on DeploymentForgotten { deployment { ...Whose } }
      ... on DeploymentStalled { stalled deployment { ...Whose } }
      ... on ConnectivityChanged { fromConnectivity toConnectivity target { name ... on Device { deviceId } } }
      ... on InstanceStatusChanged { fromStatus toStatus }
    }
  `,
  [whose],
)

export type Change = FragmentOf<typeof changeFragment>

interface ChangeLineProps {
  readonly change: Change
  /** Everything here is about one deployment: its name is not said each time. */
  readonly isOwn?: boolean
}

export function ChangeLine({ change, isOwn = false }: ChangeLineProps) {
  const error = 'error' in change ? change.error : null
  return (
    <>
      <time class="number" dateTime={change.at} title={`${formatFull(change.at)}, revision ${change.revision}`}>
        {formatTime(change.at)}
      </time>
      {'deployment' in change && !isOwn && <span class="whose">{change.deployment.target.name}</span>}
      {'target' in change && <span class="whose">{change.target.name}</span>}
      <span class="what">
        {'target' in change && 'deviceId' in change.target && (
          <a href={href(['device', change.target.deviceId])}>device</a>
        )}
        {'deployment' in change && !isOwn && (
          <a href={deploymentHref(change.deployment)} title={change.deployment.deploymentId}>
            {change.deployment.application ?? change.deployment.deploymentId}
          </a>
        )}
        {'component' in change && <span class="component">{change.component}</span>}
        {isOwn && !('component' in change) && <span class="muted">deployment</span>}
      </span>
      <span class="how">
        {tell(change)}
        {'attempt' in change && change.attempt > 1 && !isOwn && <small class="muted">attempt {change.attempt}</small>}
        <Skew at={change.at} observedAt={change.observedAt} />
        {error && (
          <span class="error-text">
            <code>{error.code}</code> {error.message}
          </span>
        )}
      </span>
    </>
  )
}

function tell(change: Change): ComponentChildren {
  switch (change.__typename) {
    case 'DeploymentStateChanged':
    case 'ComponentStateChanged':
      return <Step from={change.from} to={change.to} hasError={change.error !== null} />
    case 'ComponentRemoved':
      return 'is no longer part of it'
    case 'DeploymentMoved':
      return `moved from ${change.fromTarget?.name ?? 'nowhere'} to ${change.toTarget.name}`
    case 'DeploymentRevised':
      return `is now ${[change.application, change.applicationVersion].filter(Boolean).join(' ') || 'part of another rollout'}`
    case 'DeploymentForgotten':
      return 'was forgotten'
    case 'DeploymentStalled':
      return change.stalled ? <StateMark of="STALLED" /> : 'goes on again'
    case 'ConnectivityChanged':
      return <ConnectivityMark of={change.toConnectivity} />
    case 'InstanceStatusChanged':
      return `the run is ${change.toStatus.toLowerCase().replaceAll('_', ' ')}`
    default:
      return 'changed'
  }
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

/** How far the reporter's clock is from ours, where that is more than the way here takes. */
export function Skew({ at, observedAt }: { readonly at: string; readonly observedAt: string | null }) {
  if (!observedAt) return null
  const skew = Date.parse(observedAt) - Date.parse(at)
  if (Math.abs(skew) < 2_000) return null
  return (
    <small class="skew" title={`the reporter's clock: ${formatFull(observedAt)}`}>
      by its clock {formatSpan(skew)} {skew < 0 ? 'earlier' : 'later'}
    </small>
  )
}
