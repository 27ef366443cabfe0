import { type Change, type ChangeKind, formerRolloutOf, kindsOfBothTargets } from '../change.ts'
import { matchesLabel } from '../selectors/label-condition.ts'
import { leavesOf, matchesSelector } from '../selectors/selector.ts'
import type { Label } from '../target.ts'
import type { DeploymentState } from '../values.ts'
import {
  type ConditionOf,
  type FilterDeclaration,
  type FilterOf,
  keys,
  label,
  labels,
  texts,
  time,
  values,
} from './filter.ts'

export const changeFilter = {
  name: 'Change',
  one: 'a change',
  many: 'changes',
  says: 'A filter that names no deployments, devices or rollouts reads the log for about 0.1 s, without the parts that have none of its kinds, states, components or error codes. The error then names the revision to continue from, in `extensions.continueAfter` or `continueBefore`. A count that would read more than 60,000 entries is refused.',
  conditions: {
    kinds: values<ChangeKind>('ChangeKind')('Kinds of changes.'),
    deploymentIds: texts('Deployment IDs, as their reporters assigned them.'),
    deviceIds: texts('IDs of the devices where the changes happened. A move matches both devices.'),
    rolloutIds: keys(
      'Rollout',
      'Node IDs of the rollouts that the deployments belong to. Where a deployment joins another rollout, DEPLOYMENT_REVISED and COMPONENT_REMOVED match both.',
    ),
    instanceIds: texts('Instance IDs of rollouts.'),
    components: texts('Component names.'),
    to: values<DeploymentState>('DeploymentState')('States that a deployment or a component changed to.'),
    errorCodes: texts('Error codes that a deployment or a component changed to.'),
    labels: labels(
      'Labels. The target has at least one of them from its registration. Unlike the filters of `devices` and `deployments`, this one ignores labels that the device reported itself.',
    ),
    label: label('A condition on a label of the target from its registration.', { isUnindexed: true }),
    since: time('Recorded at this time or later (server time).'),
    before: time('Recorded before this time (server time).'),
  },
} as const satisfies FilterDeclaration

export type ChangeFilter = FilterOf<typeof changeFilter>
export type ChangeCondition = ConditionOf<typeof changeFilter.conditions>

/** The narrowest first. */
const subjectFields = ['deploymentIds', 'deviceIds', 'instanceIds', 'rolloutKeys'] as const

/** The condition that names the fewest subjects, of those that each match meets: the filter's own, and parts of its selector that must hold. */
export function subjectsOf(filter: ChangeFilter): ChangeCondition | null {
  const leaves = leavesOf<ChangeCondition>(filter)
  const [narrowest] = subjectFields.flatMap((field) => leaves.find((leaf) => leaf[field]) ?? [])
  return narrowest ?? null
}

/** What a change must meet for each field of a filter. */
const conditions: {
  readonly [Field in keyof ChangeFilter]-?: (wanted: NonNullable<ChangeFilter[Field]>, change: Change) => boolean
} = {
  kinds: (kinds, { kind }) => includes(kinds, kind),
  deploymentIds: (ids, { deploymentId }) => includes(ids, deploymentId),
  deviceIds: (ids, change) => includes(ids, deviceOf(change)) || includes(ids, formerDeviceOf(change)),
  rolloutKeys: (keys, change) => includes(keys, change.rolloutKey) || includes(keys, formerRolloutOf(change)),
  instanceIds: (ids, { instanceId }) => includes(ids, instanceId),
  components: (names, change) => 'component' in change && includes(names, change.component),
  to: (states, change) => includes(states, toState(change)),
  labels: (labels, change) => labels.some((wanted) => hasLabel(change.labels, wanted)),
  label: (label, change) => matchesLabel(label, valuesOf(change.labels, label.key)),
  errorCodes: (codes, change) => includes(codes, errorCodeOf(change)),
  since: (time, { at }) => at >= time,
  before: (time, { at }) => at < time,
  where: (selector, change) => matchesSelector(selector, (leaf) => matchesChange(leaf, change)),
}

export function matchesChange(filter: ChangeFilter, change: Change): boolean {
  for (const field in filter) {
    const wanted = filter[field as keyof ChangeFilter]
    if (!Object.hasOwn(conditions, field)) throw new TypeError(`${field} has no condition`)
    const isMet = conditions[field as keyof ChangeFilter] as (wanted: unknown, change: Change) => boolean
    if (wanted !== undefined && !isMet(wanted, change)) return false
  }
  return true
}

function deviceOf({ targetKind, targetName }: Change): string | null {
  return targetKind === 'DEVICE' ? targetName : null
}

function formerDeviceOf({ kind, fromTargetName }: Change): string | null {
  return kindsOfBothTargets.includes(kind) ? fromTargetName : null
}

function errorCodeOf(change: Change): string | null {
  return 'error' in change ? (change.error?.code ?? null) : null
}

function valuesOf(labels: readonly Label[], key: string): string[] {
  return labels.filter((label) => label.key === key).map(({ value }) => value)
}

function toState(change: Change): DeploymentState | null {
  return change.kind === 'DEPLOYMENT_STATE_CHANGED' || change.kind === 'COMPONENT_STATE_CHANGED' ? change.to : null
}

function hasLabel(labels: readonly Label[], wanted: Label): boolean {
  return labels.some((label) => label.key === wanted.key && label.value === wanted.value)
}

function includes<T>(list: readonly T[], value: T | null): boolean {
  return value !== null && list.includes(value)
}
