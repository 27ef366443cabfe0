/** Filters of deployments: the same conditions for lists and counts, at present and in the past. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { deploymentFilter } from '../../../domain/nouns/deployment.ts'
import type { ConditionOf } from '../../../domain/nouns/filter.ts'
import { conjunctionOf, mapLeaves, type Selector } from '../../../domain/selectors/selector.ts'
import { isStorable } from '../../../domain/text.ts'
import type { Revision } from '../../../domain/values.ts'
import { type Conditions, conditionsIn, mapConditions, presentFields } from '../../sql/conditions.ts'
import {
  all,
  containsAny,
  containsText,
  either,
  fixed,
  hasElementOf,
  isAnyOf,
  isHashed,
  listParameter,
  nothing,
  selectorCondition,
  timeParameter,
} from '../../sql/parameters.ts'
import { changeLog, deployments, instances, targets } from '../../tables/schema.ts'
import { type GroupName, isInGroup } from '../groups/grouping.ts'
import { isDeviceRow, type TargetCondition, targetConditions, targetRow } from './target-filter.ts'

/** The parent is left out: a reader of a part of the fleet may see a device without its parent. */
type OnTarget = Omit<TargetCondition, 'parents'>

export interface DeploymentFilter extends DeploymentCondition {
  /** True: only deployments that were closed when their device retired. Absent or false: only listed deployments. A revision: in the state at that revision (filterAt). */
  readonly retired?: boolean | Revision
  /** It belongs to this group. */
  readonly group?: GroupName
  readonly where?: DeploymentSelector
}

/** What a leaf of a selector says of a deployment. The target is the present one, also in the past, but for its maintenance (filterAt). */
export type DeploymentCondition = Omit<ConditionOf<typeof deploymentFilter.conditions>, 'inMaintenance'> &
  Pick<TargetCondition, 'inMaintenance'>
export type DeploymentSelector = Selector<DeploymentCondition>

/** The row of deployments that conditions use, from any source. */
export const d = alias(deployments, 'd')

/** Conditions on a deployment itself. */
const ownConditions: Conditions<Omit<DeploymentFilter, keyof OnTarget | 'text'>> = {
  keys: (keys) => isAnyOf(d.key, keys, 'bigint'),
  deploymentIds: (ids) => isAnyOf(d.deploymentId, ids, 'text'),
  reporters: (names) => isAnyOf(d.reporter, names, 'text'),
  rolloutKeys: (keys) => isAnyOf(d.rolloutKey, keys, 'bigint'),
  instanceIds: (ids) => sql`${d.instanceKey} in (${instancesNamed(ids)})`,
  applications: (names) => isAnyOf(d.application, names, 'text'),
  applicationVersions: (versions) => isAnyOf(d.applicationVersion, versions, 'text'),
  states: (states) => isAnyOf(d.state, states, 'deployment_state'),
  derivedStates: (states) => isAnyOf(d.derivedState, states, 'deployment_state'),
  convergence: (values) => isAnyOf(d.convergence, values, 'convergence'),
  readiness: (readiness) => isAnyOf(d.readiness, readiness, 'readiness'),
  components: (names) => {
    const isThere = hasComponent(isAnyOf(sql`component ->> 'name'`, names, 'text'))
    return isHashed(names) ? isThere : all([mentions(names), either([nameParts(names), isThere])])
  },
  errorCodes: (codes) => all([hasError, hasErrorCode(codes)]),
  consistent: (wanted) => sql`${d.consistent} = ${wanted}::boolean`,
  stalled: (wanted) => sql`${d.stalled} = ${wanted}::boolean`,
  retired: (wanted) => (typeof wanted === 'number' ? isClosedAt(wanted) : wanted ? isClosed : sql`true`),
  hasError: (wanted) => (wanted ? hasError : sql`not ${hasError}`),
  group: isInGroup,
  changedAfter: (time) => sql`${d.changedAt} > ${timeParameter(time)}`,
  changedBefore: (time) => sql`${d.changedAt} < ${timeParameter(time)}`,
  where: (selector) => selectorCondition<DeploymentCondition>(selector, (leaf) => conditionsOf(leaf, isOn)),
}

export const onTarget = targetRow('on_target')
const { parents: _, ...onTargetConditions } = targetConditions(onTarget, [])

/** How to say that the target of `d` matches a condition. */
type Reach = (condition: SQL) => SQL

/** The planner may begin with the targets. */
const runsOn: Reach = (condition) =>
  sql`${d.targetKey} in (select ${onTarget.key} from ${targets} ${onTarget} where ${condition})`

/** A lookup by row. Within `or` and `not`, the planner would make a list of all targets instead. */
const isOn: Reach = (condition) =>
  sql`exists (select 1 from ${targets} ${onTarget} where ${onTarget.key} = ${d.targetKey} and ${condition} offset 0)`

export function instancesNamed(ids: readonly string[]): SQL {
  return sql`select ${instances.key} from ${instances} where ${isAnyOf(instances.instanceId, ids, 'text')}`
}

/** For rows with an error. */
export function hasErrorCode(codes: readonly string[]): SQL {
  const [own, list] = [sql`deployment_error_codes(${d.error}, ${d.components})`, listParameter(codes, 'text')]
  return isHashed(codes) ? hasElementOf(sql`unnest(${own})`, list) : sql`${own} && ${list}`
}

function matchesText(text: string, reach: Reach): SQL {
  if (!isStorable(text)) return nothing
  return either([
    containsText([d.deploymentId, d.reporter, d.application], text),
    reach(containsText([onTarget.name, onTarget.displayName], text)),
    all([
      hasError,
      hasErrorWhere((error) => containsText([sql`${error} ->> 'code'`, sql`${error} ->> 'message'`], text)),
    ]),
  ])
}

const isDevice = isDeviceRow(onTarget)
/** Closed with the device that it ran on or that reported it, and not forgotten before. */
const isClosed = closedWith(sql`${onTarget.retiredAt} <= ${d.forgottenAt}`)

/**
 * The same at that revision, which the device itself does not say: it may have been registered again since. The log does: it was retired in the batch in
 * which `d` was forgotten, and not registered again up to then. Of a retirement that the log has no more, the device says it.
 */
function isClosedAt(revision: Revision): SQL {
  const entry = (kind: 'DEVICE_RETIRED' | 'DEVICE_REINSTATED', condition: SQL): SQL =>
    sql`exists (select 1 from ${changeLog} where ${changeLog.targetKey} = ${onTarget.key} and ${changeLog.deploymentKey} is null
      and ${changeLog.changes} -> 0 ->> 'kind' = ${kind} and ${condition})`
  const then = sql`${changeLog.firstRevision} <= ${revision}::bigint`
  return closedWith(
    either([
      all([
        entry('DEVICE_RETIRED', sql`${then} and ${changeLog.at} = ${d.forgottenAt}`),
        sql`not ${entry('DEVICE_REINSTATED', sql`${then} and ${changeLog.at} >= ${d.forgottenAt}`)}`,
      ]),
      all([
        sql`${onTarget.retiredAt} <= ${d.forgottenAt}`,
        sql`not ${entry('DEVICE_RETIRED', sql`${changeLog.firstRevision} > ${revision}::bigint`)}`,
      ]),
    ]),
  )
}

function closedWith(condition: SQL): SQL {
  return sql`exists (select 1 from ${targets} ${onTarget}
    where (${onTarget.key} = ${d.targetKey} or ${isDevice} and ${onTarget.name} = ${d.reporter} and ${onTarget.siteKey} = ${d.siteKey}) and (${condition}))`
}

/** The filter as of a revision: whether a device was retired or in maintenance then is not what the device says now. Null: the present. */
export function filterAt({ where, ...own }: DeploymentFilter, revision: Revision | null): DeploymentFilter {
  if (revision === null) return { ...own, ...(where && { where }) }
  const at = <Leaf extends DeploymentCondition>(leaf: Leaf): Leaf =>
    typeof leaf.inMaintenance === 'boolean'
      ? { ...leaf, inMaintenance: { wanted: leaf.inMaintenance, at: revision } }
      : leaf
  return { ...at(own), ...(own.retired && { retired: revision }), ...(where && { where: mapLeaves(where, at) }) }
}

/** Fields of which a deployment has one value: it matches two lists if it matches what both have. */
const singleFields: ReadonlySet<string> = new Set([
  'states',
  'convergence',
  'applications',
  'applicationVersions',
  'rolloutKeys',
] satisfies (keyof DeploymentFilter)[])

/** The same filter without a selector, if a filter can say that. Stored counts answer only such filters. */
export function flattened(filter: DeploymentFilter): DeploymentFilter {
  const { where, ...own } = filter
  const leaves = where ? conjunctionOf<DeploymentCondition>(where) : null
  if (leaves === null) return filter
  const flat: Record<string, unknown> = { ...own }
  for (const leaf of leaves)
    for (const field of presentFields(leaf)) {
      const [known, value] = [flat[field] ?? null, leaf[field]]
      if (known !== null && !singleFields.has(field)) return filter
      const both = (known ?? value) as readonly unknown[]
      flat[field] = known === null ? value : both.filter((one) => (value as readonly unknown[]).includes(one))
    }
  return flat
}

/** The same text as the predicates of the indexes (tables/core.ts). */
export const hasError = fixed(sql`deployment_has_error(${d.error}, ${d.components})`)

/** The condition that `d` is listed, or closed with its device, as the filter requires. */
export function stands({ retired }: DeploymentFilter): SQL {
  return retired ? forgotten : listed
}

const listed = fixed(sql`${d.forgottenAt} is null`)
const forgotten = fixed(sql`${d.forgottenAt} is not null`)

/** The condition for `d`, without the check whether it is forgotten (see `stands`). */
export function matchesDeployment(filter: DeploymentFilter): SQL {
  return all(conditionsOf(filter, runsOn))
}

/** The same for rows that were found by another condition already: nothing is looked up except for them. */
export function matchesFound(filter: DeploymentFilter): SQL {
  return all(conditionsOf(filter, isOn))
}

function conditionsOf(filter: DeploymentFilter, reach: Reach): SQL[] {
  const conditions: Conditions<DeploymentFilter> = {
    ...ownConditions,
    ...mapConditions(onTargetConditions, reach),
    text: (text) => matchesText(text, reach),
  }
  return conditionsIn(conditions, filter)
}

function hasComponent(condition: SQL): SQL {
  return sql`exists (select 1 from json_array_elements(${d.components}) as component where ${condition})`
}

/** A cheap condition that nearly all rows without these components fail: most rows need not be parsed then. */
function mentions(names: readonly string[]): SQL {
  return areVerbatim(names) ? hasPart(names.map((name) => `"${name}"`)) : sql`true`
}

/** A cheap condition that nearly all rows with one of these components meet. Within a string, the quotes would be escaped. */
function nameParts(names: readonly string[]): SQL {
  return areVerbatim(names) ? hasPart(names.flatMap((name) => [`"name":"${name}"`, `"name" : "${name}"`])) : nothing
}

function hasPart(parts: readonly string[]): SQL {
  return containsAny(sql`${d.components}::text`, parts)
}

/** JSON has these names as they are. Other characters may be written as escapes. */
export function areVerbatim(names: readonly string[]): boolean {
  return names.every((name) => /^[\w .:/-]*$/.test(name))
}

function hasErrorWhere(condition: (error: SQLWrapper) => SQL): SQL {
  return sql`(coalesce(${condition(d.error)}, false) or ${hasComponent(condition(sql`(component -> 'error')`))})`
}
