/**
 * The spans of rollouts: a rollout is a trace, an attempt of a deployment is a span, and its components are children.
 *
 *   rollout ── attempt (first state or a new attempt … INSTALLED, FAILED, REMOVED) ── component
 *                 events: waiting, installing, stalled, no longer stalled
 *
 * The span of the rollout has no length: it is exported when the rollout is created, because a rollout can go on at any time after it was finished.
 */

import { createHash } from 'node:crypto'
import type { Change } from '../../domain/change.ts'
import type { Rollout } from '../../domain/rollout.ts'
import type { DeploymentState, Millis, Revision } from '../../domain/values.ts'

/** Identifiers of traces and spans. They follow from what the log says, so a restarted server gives a span the same ID. */
const digest = (...parts: readonly (string | number)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

/** A rollout is a trace. `created`: the revision at which it was created, which no other rollout of any epoch has. */
const traceIdOf = (key: number, created: Revision): string => digest('rollout', key, created).slice(0, 32)

const rolloutSpanId = (traceId: string): string => digest('span', traceId).slice(0, 16)

/** `began`: the revision of the change that began the attempt. */
const attemptSpanId = (deploymentKey: number, began: Revision): string =>
  digest('attempt', deploymentKey, began).slice(0, 16)

const componentSpanId = (attempt: string, name: string): string => digest('component', attempt, name).slice(0, 16)

type Attributes = Readonly<Record<string, string | number>>

interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
}

/** As much of OpenTelemetry's span as a rollout has. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly start: Millis
  readonly end: Millis
  /** Why it failed. Null: it did not. */
  readonly failure: string | null
  readonly isDone: boolean
  readonly attributes: Attributes
  readonly events: readonly { readonly name: string; readonly at: Millis; readonly attributes: Attributes }[]
  /** The trace contexts of the requests that made its changes. */
  readonly links: readonly TraceContext[]
}

export interface TracedRollout extends Pick<Rollout, 'key' | 'name' | 'kind' | 'project'> {
  readonly created: { readonly revision: Revision; readonly at: Millis | null; readonly traceparent: string | null }
}

/** What an attempt's span says about its deployment. */
interface Subject {
  readonly rollout: TracedRollout
  readonly application: string | null
  readonly applicationVersion: string | null
  readonly reporter: string
}

type StateChange = Extract<Change, { readonly kind: 'DEPLOYMENT_STATE_CHANGED' }>

const isTerminal = (state: DeploymentState | null): boolean =>
  state === 'INSTALLED' || state === 'FAILED' || state === 'REMOVED'

/** Whether an attempt ends with this change. */
export function endsAttempt(change: Change): change is StateChange {
  return change.kind === 'DEPLOYMENT_STATE_CHANGED' && isTerminal(change.to) && !isTerminal(change.from)
}

/** Whether an attempt begins with this change. */
export function beginsAttempt(change: Change): boolean {
  return change.kind === 'DEPLOYMENT_STATE_CHANGED' && (change.from === null || isTerminal(change.from))
}

export function rolloutSpan({ key, name, kind, project, created }: TracedRollout): Span {
  const traceId = traceIdOf(key, created.revision)
  const at = created.at ?? 0
  return {
    ...{ traceId, spanId: rolloutSpanId(traceId), parentSpanId: null, name: `rollout ${name}`, start: at, end: at },
    ...{ failure: null, isDone: false, events: [], links: linksOf([created]) },
    attributes: {
      ...{ 'deployment.name': name, 'rollcall.rollout.kind': kind, 'rollcall.revision': String(created.revision) },
      ...(project !== null && { 'rollcall.project': project }),
    },
  }
}

/** The span of an attempt, and those of its components. `changes`: of the deployment, from the beginning of the attempt to its end. */
export function attemptSpans(changes: readonly Change[], subject: Subject): readonly Span[] {
  const [first, last] = [changes[0], changes.findLast(endsAttempt)]
  if (!first || !last || last.deploymentKey === null) return []
  const { rollout, application, applicationVersion, reporter } = subject
  const traceId = traceIdOf(rollout.key, rollout.created.revision)
  const spanId = attemptSpanId(last.deploymentKey, first.revision)
  const verb = last.to === 'REMOVED' ? 'remove' : 'install'
  const target = last.targetKind === 'DEVICE' ? 'device.id' : 'k8s.cluster.name'
  const span: Span = {
    ...{ traceId, spanId, parentSpanId: rolloutSpanId(traceId) },
    name: `${verb} ${application ?? last.deploymentId ?? ''}`,
    start: first.at,
    end: last.at,
    failure: failureOf(last),
    isDone: last.to !== 'FAILED',
    attributes: {
      'deployment.id': last.deploymentId ?? '',
      'deployment.name': rollout.name,
      'deployment.status': last.to === 'FAILED' ? 'failed' : 'succeeded',
      ...(last.targetName !== null && { [target]: last.targetName }),
      ...(application !== null && { 'rollcall.application': application }),
      ...(applicationVersion !== null && { 'rollcall.application.version': applicationVersion }),
      ...(last.error !== null && { 'error.type': last.error.code }),
      'rollcall.reporter': reporter,
      'rollcall.attempt': last.attempt,
      'rollcall.revision': String(last.revision),
    },
    events: changes.flatMap(eventOf),
    links: linksOf(changes),
  }
  return [span, ...componentSpans(span, changes)]
}

/** Links of one span. The rest have no link. */
export const mostLinks = 32

function linksOf(facts: readonly Pick<Change, 'traceparent'>[]): Span['links'] {
  const distinct = new Set(facts.flatMap(({ traceparent }) => traceparent ?? []))
  return [...distinct].slice(0, mostLinks).map(traceContextOf)
}

/** Of the traceparent of a change, which is valid. */
export function traceContextOf(traceparent: string): TraceContext {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

const failureOf = (change: Extract<Change, { readonly to: DeploymentState }>): string | null =>
  change.to === 'FAILED' ? [change.error?.code, change.error?.message].filter(Boolean).join(': ') : null

function eventOf(change: Change): Span['events'] {
  const { at, revision } = change
  const attributes = { 'rollcall.revision': String(revision) }
  if (change.kind === 'DEPLOYMENT_STALLED')
    return [{ name: change.stalled ? 'stalled' : 'no longer stalled', at, attributes }]
  if (change.kind !== 'DEPLOYMENT_STATE_CHANGED' || isTerminal(change.to)) return []
  const { to, error } = change
  if (to === 'PENDING' && error)
    return [
      { name: 'waiting', at, attributes: { ...attributes, 'error.type': error.code, 'error.message': error.message } },
    ]
  return change.from === to ? [] : [{ name: to.toLowerCase(), at, attributes }]
}

/** From a component's first change in the attempt to its last. One that is still in progress ends with the attempt. */
function componentSpans(attempt: Span, changes: readonly Change[]): readonly Span[] {
  const ofComponents = changes.flatMap((change) => (change.kind === 'COMPONENT_STATE_CHANGED' ? [change] : []))
  return [...Map.groupBy(ofComponents, ({ component }) => component)].flatMap(([component, own]) => {
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last) return []
    const { traceId, spanId } = attempt
    return [
      {
        ...{
          traceId,
          spanId: componentSpanId(spanId, component),
          parentSpanId: spanId,
          name: `component ${component}`,
        },
        start: first.at,
        end: isTerminal(last.to) ? last.at : attempt.end,
        failure: failureOf(last),
        isDone: isTerminal(last.to) && last.to !== 'FAILED',
        attributes: {
          ...{ 'rollcall.component': component, 'rollcall.component.state': last.to },
          ...(last.error !== null && { 'error.type': last.error.code }),
        },
        events: [],
        links: [],
      },
    ]
  })
}
