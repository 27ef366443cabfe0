/** Filters of deployments: the same conditions for lists and counts, at present and in the past. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Convergence } from '../../domain/desired.ts'
import type { Connectivity, Label } from '../../domain/target.ts'
import { isStorable } from '../../domain/text.ts'
import type { DeploymentState, Millis, Readiness, Revision } from '../../domain/values.ts'
import { all, containsText, either, fixed, hasAnyLabel, isAnyOf, nothing, timeParameter } from '../sql/parameters.ts'
import { changeLog, deployments, instances, targets } from '../tables/schema.ts'
import { type GroupName, isInGroup } from './groups/grouping.ts'
import { callsItself } from './profiles.ts'

/** Any value within a field, and all fields together. An absent field matches everything, an empty list nothing. */
export interface DeploymentFilter {
  readonly keys?: readonly number[]
  readonly deploymentIds?: readonly string[]
  /** Names of the device it runs on. */
  readonly deviceIds?: readonly string[]
  readonly reporters?: readonly string[]
  readonly rolloutKeys?: readonly number[]
  readonly instanceIds?: readonly string[]
  readonly applications?: readonly string[]
  readonly applicationVersions?: readonly string[]
  readonly states?: readonly DeploymentState[]
  readonly derivedStates?: readonly DeploymentState[]
  readonly convergence?: readonly Convergence[]
  readonly readiness?: readonly Readiness[]
  /** Names of components. */
  readonly components?: readonly string[]
  /** Error codes of the deployment or of one of its components. */
  readonly errorCodes?: readonly string[]
  /** Present labels of its target. */
  readonly labels?: readonly Label[]
  /** Present connectivity of its target. */
  readonly connectivity?: readonly Connectivity[]
  readonly consistent?: boolean
  readonly stalled?: boolean
  readonly hasError?: boolean
  /** True: only deployments that were closed when their device retired. Absent or false: only listed deployments. A revision: as of then (filterAt). */
  readonly retired?: boolean | Revision
  /** Part of the id, device, reporter, application or error. Case is ignored. */
  readonly text?: string
  /** It belongs to this group. */
  readonly group?: GroupName
  readonly changedAfter?: Millis
  readonly changedBefore?: Millis
}

/** The row of deployments that conditions use, from any source. */
export const d = alias(deployments, 'd')

const onTarget = alias(targets, 'on_target')

/** The compiler ensures that all fields are here. */
const conditions: {
  readonly [Field in keyof DeploymentFilter]-?: (value: NonNullable<DeploymentFilter[Field]>) => SQL
} = {
  keys: (keys) => isAnyOf(d.key, keys, 'bigint'),
  deploymentIds: (ids) => isAnyOf(d.deploymentId, ids, 'text'),
  deviceIds: (names) => runsOn(all([isDevice, isAnyOf(onTarget.name, names, 'text')])),
  reporters: (names) => isAnyOf(d.reporter, names, 'text'),
  rolloutKeys: (keys) => isAnyOf(d.rolloutKey, keys, 'bigint'),
  instanceIds: (ids) =>
    sql`${d.instanceKey} in (select ${instances.key} from ${instances} where ${isAnyOf(instances.instanceId, ids, 'text')})`,
  applications: (names) => isAnyOf(d.application, names, 'text'),
  applicationVersions: (versions) => isAnyOf(d.applicationVersion, versions, 'text'),
  states: (states) => isAnyOf(d.state, states, 'deployment_state'),
  derivedStates: (states) => isAnyOf(d.derivedState, states, 'deployment_state'),
  convergence: (values) => isAnyOf(d.convergence, values, 'convergence'),
  readiness: (readiness) => isAnyOf(d.readiness, readiness, 'readiness'),
  components: (names) => hasComponent(isAnyOf(sql`component ->> 'name'`, names, 'text')),
  errorCodes: (codes) => hasErrorWhere((error) => isAnyOf(sql`${error} ->> 'code'`, codes, 'text')),
  labels: (labels) => runsOn(either([hasAnyLabel(onTarget.labels, labels), callsItself(onTarget, labels)])),
  connectivity: (values) => runsOn(isAnyOf(onTarget.connectivity, values, 'connectivity')),
  consistent: (wanted) => sql`${d.consistent} = ${wanted}::boolean`,
  stalled: (wanted) => sql`${d.stalled} = ${wanted}::boolean`,
  retired: (wanted) => (typeof wanted === 'number' ? isClosedAt(wanted) : wanted ? isClosed : sql`true`),
  hasError: (wanted) => (wanted ? hasError : sql`not ${hasError}`),
  text: (text) =>
    isStorable(text)
      ? either([
          containsText([d.deploymentId, d.reporter, d.application], text),
          runsOn(containsText([onTarget.name, onTarget.displayName], text)),
          hasErrorWhere((error) => containsText([sql`${error} ->> 'code'`, sql`${error} ->> 'message'`], text)),
        ])
      : nothing,
  group: isInGroup,
  changedAfter: (time) => sql`${d.changedAt} > ${timeParameter(time)}`,
  changedBefore: (time) => sql`${d.changedAt} < ${timeParameter(time)}`,
}

const isDevice = sql`${onTarget.kind} = 'DEVICE' and ${onTarget.provider} = ''`
/** Closed with the device that it ran on or that reported it, and not forgotten before. */
const isClosed = closedWith(sql`${onTarget.retiredAt} <= ${d.forgottenAt}`)

/**
 * The same as of then, which the device itself does not say: it may have been registered again since. The log does: it was retired in the batch in
 * which `d` was forgotten, and not registered again up to then. Of a retirement that the log has no more, the device says it.
 */
function isClosedAt(revision: Revision): SQL {
  const entry = (kind: 'DEVICE_RETIRED' | 'DEVICE_REINSTATED', condition: SQL): SQL =>
    sql`exists (select 1 from ${changeLog} where ${changeLog.targetKey} = ${onTarget.key} and ${changeLog.deploymentKey} is null
      and ${changeLog.changes}::text like ${`%"${kind}"%`} and ${condition})`
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
    where (${onTarget.key} = ${d.targetKey} or ${isDevice} and ${onTarget.name} = ${d.reporter}) and (${condition}))`
}

/** The filter as of a revision: whether a device was retired then is not what the device says now. Null: the present. */
export function filterAt(filter: DeploymentFilter, revision: Revision | null): DeploymentFilter {
  return filter.retired && revision !== null ? { ...filter, retired: revision } : filter
}

const hasError = hasErrorWhere((error) => sql`${error} ->> 'code' is not null`)

/** The condition that `d` is listed, or closed with its device, as the filter requires. */
export function stands({ retired }: DeploymentFilter): SQL {
  return retired ? forgotten : listed
}

const listed = fixed(sql`${d.forgottenAt} is null`)
const forgotten = fixed(sql`${d.forgottenAt} is not null`)

/** The condition for `d`, without the check whether it is forgotten (see `stands`). */
export function matchesDeployment(filter: DeploymentFilter): SQL {
  return all(
    presentFields(filter).map((field) => {
      const condition = conditions[field] as (value: unknown) => SQL
      return condition(filter[field])
    }),
  )
}

/** The fields that restrict the result. */
export function presentFields<Filter extends object>(filter: Filter): (keyof Filter)[] {
  return (Object.keys(filter) as (keyof Filter)[]).filter(
    (field) => filter[field] !== undefined && filter[field] !== null,
  )
}

function runsOn(condition: SQL): SQL {
  return sql`${d.targetKey} in (select ${onTarget.key} from ${targets} ${onTarget} where ${condition})`
}

function hasComponent(condition: SQL): SQL {
  return sql`exists (select 1 from json_array_elements(${d.components}) as component where ${condition})`
}

function hasErrorWhere(condition: (error: SQLWrapper) => SQL): SQL {
  return sql`(coalesce(${condition(d.error)}, false) or ${hasComponent(condition(sql`(component -> 'error')`))})`
}
