/** Conditions on rollouts. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import type { ConditionOf, FilterOf } from '../../../domain/nouns/filter.ts'
import type { rolloutFilter } from '../../../domain/nouns/rollout.ts'
import { mentions } from '../../../domain/selectors/selector.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Conditions, conditionsIn } from '../../sql/conditions.ts'
import { all, containsText, isAnyOf, nothing, selectorCondition, timeParameter } from '../../sql/parameters.ts'
import { deployments, rollouts, targets } from '../../tables/schema.ts'
import { visiblePlace } from '../access-scope.ts'
import { fromThen, isListed } from '../deployment-scope.ts'
import { type DeploymentFilter, d, matchesDeployment } from '../filters/deployment-filter.ts'
import { targetConditions, targetRow } from '../filters/target-filter.ts'
import type { Past } from '../past.ts'
import { rolloutHasLabel } from './rollout-labels.ts'
import { seesWholeRollouts } from './rollout-life.ts'

export type RolloutFilter = FilterOf<typeof rolloutFilter>

/** Times are null for a reader that does not see the whole rollout, so it finds nothing by them. `labels` and `label` are those of its targets. */
export type RolloutCondition = ConditionOf<typeof rolloutFilter.conditions>

const { pending, installing, removing } = rollouts
export const isFinished = sql`${pending} + ${installing} + ${removing} = 0`

const onTarget = targetRow('rollout_target')

/** Throws BAD_USER_INPUT if a field has no past. */
export function matchesRollout(reader: Session, filter: RolloutFilter, past: Past | null = null): SQL[] {
  const conditions: Conditions<RolloutFilter> = {
    ...(past ? conditionsThen(reader, past) : conditionsFor(reader)),
    where: (selector) => selectorCondition<RolloutCondition>(selector, (leaf) => conditionsIn(conditions, leaf)),
  }
  return conditionsIn(conditions, filter)
}

function conditionsFor(reader: Session): Conditions<RolloutCondition> {
  const after =
    (time: SQLWrapper) =>
    (value: Millis): SQL =>
      sql`${time} > ${timeParameter(value)}`
  const before =
    (time: SQLWrapper) =>
    (value: Millis): SQL =>
      sql`${time} < ${timeParameter(value)}`
  const seen = (condition: (value: Millis) => SQL) => (seesWholeRollouts(reader) ? condition : () => nothing)
  const there = targetConditions(onTarget, [])
  const runsOn = (condition: SQL): SQL =>
    hasDeployment(
      reader,
      sql`${deployments.targetKey} in (select ${onTarget.key} from ${targets} ${onTarget} where ${condition})`,
    )
  const finishedAt = sql`case when ${isFinished} then ${rollouts.activityAt} end`
  return {
    keys: (keys) => isAnyOf(rollouts.key, keys, 'bigint'),
    kinds: (kinds) => isAnyOf(rollouts.kind, kinds, 'rollout_kind'),
    projects: (projects) => isAnyOf(rollouts.project, projects, 'text'),
    names: (names) => isAnyOf(rollouts.name, names, 'text'),
    compositeApps: (names) => isAnyOf(rollouts.compositeApp, names, 'text'),
    states: (states) => isAnyOf(rollouts.state, states, 'lifecycle_state'),
    statuses: (statuses) => isAnyOf(rollouts.status, statuses, 'instance_status'),
    deviceIds: (names) => runsOn(there.deviceIds(names)),
    clusters: (names) => runsOn(there.clusters(names)),
    labels: (labels) => runsOn(there.labels(labels)),
    label: (label) => runsOn(there.label(label)),
    rolloutLabel: (label) => rolloutHasLabel(label, null),
    failing: (wanted) => sql`${isFailing(reader)} = ${wanted}::boolean`,
    text: (text) => containsText([rollouts.name, rollouts.project, rollouts.compositeApp], text),
    createdAfter: after(rollouts.createdAt),
    createdBefore: before(rollouts.createdAt),
    startedAfter: seen(after(rollouts.startedAt)),
    startedBefore: seen(before(rollouts.startedAt)),
    changedAfter: seen(after(rollouts.changedAt)),
    changedBefore: seen(before(rollouts.changedAt)),
    finishedAfter: seen(after(finishedAt)),
    finishedBefore: seen(before(finishedAt)),
  }
}

/** At a revision: the deployments and own labels at that revision, and what never changes. Labels of targets have no history: they are the present ones. */
function conditionsThen(reader: Session, past: Past): Conditions<RolloutCondition> {
  const had = (filter: DeploymentFilter): SQL => hadDeployment(reader, past, filter)
  const refuse = (field: string) => (): SQL => {
    throw new DomainError('BAD_USER_INPUT', `filter.${field} selects only the rollouts of the present, not of the past`)
  }
  return {
    ...conditionsFor(reader),
    deviceIds: (deviceIds) => had({ deviceIds }),
    clusters: (clusters) => had({ clusters }),
    labels: (labels) => had({ labels }),
    label: (label) => had({ label }),
    rolloutLabel: (label) => rolloutHasLabel(label, past.revision),
    failing: (wanted) => sql`(${had({ states: ['FAILED'] })}) = ${wanted}::boolean`,
    states: refuse('states'),
    statuses: refuse('statuses'),
    startedAfter: refuse('startedAfter'),
    startedBefore: refuse('startedBefore'),
    changedAfter: refuse('changedAfter'),
    changedBefore: refuse('changedBefore'),
    finishedAfter: refuse('finishedAfter'),
    finishedBefore: refuse('finishedBefore'),
  }
}

/** The same, looked up for each rollout: the first rows of a list do not read the whole fleet. */
export function eachHadDeployment(reader: Session, past: Past): SQL {
  const scope = { of: 'rollout', keys: [] } as const
  const found = fromThen({ ...past, candidates: 'all' }, scope, {}, isListed(reader, scope, {}))
  return sql`exists (select 1 from (select ${rollouts.key} as key offset 0) as parent cross join lateral (select 1 ${found} limit 1) as found)`
}

/** It had a deployment in lists that the reader sees, at that revision. */
export function hadDeployment(reader: Session, past: Past, filter: DeploymentFilter): SQL {
  const scope = { of: 'fleet' } as const
  const conditions = [matchesDeployment(filter), ...isListed(reader, scope, filter)]
  return sql`${rollouts.key} in (select ${d.rolloutKey} ${fromThen(past, scope, filter, conditions)})`
}

/** Stored counters ignore access scopes. */
function isFailing(reader: Session): SQL {
  return reader.accessScope
    ? hasDeployment(reader, sql`${deployments.state} = 'FAILED'`)
    : sql`(${rollouts.failed} > 0)`
}

/** A deployment in lists, which the reader sees. */
export function hasDeployment(reader: Session, condition: SQL): SQL {
  const { rolloutKey, forgottenAt, isCurrent } = deployments
  return sql`exists (select 1 from ${deployments} where ${rolloutKey} = ${rollouts.key} and ${forgottenAt} is null and ${isCurrent}
    and ${all([condition, ...visiblePlace(reader, deployments)])})`
}

/** Whether the rollouts of a past revision are found from all deployments of that time. A page looks its rollouts up. */
export function readsFleet(filter: RolloutFilter, isPage: boolean): boolean {
  const isImplicit = filter.kinds?.includes('MARGO_DEPLOYMENT') ?? true
  return (isImplicit && !isPage) || mentions<RolloutCondition>(filter, ['clusters', 'labels', 'label', 'failing'])
}
