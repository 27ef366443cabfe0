/**
 * The log's entries, expanded to one row per change. The revision is first_revision plus the index in `changes`. Filters and limits
 * apply to each change. Conditions on the subject apply to the entry, which has indexes.
 */

import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { type ChangeKind, kindsOfBothRollouts, kindsOfBothTargets } from '../../../domain/change.ts'
import type { ChangeCondition, ChangeFilter } from '../../../domain/nouns/change.ts'
import type { LabelCondition } from '../../../domain/selectors/label-condition.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Conditions, conditionsIn } from '../../sql/conditions.ts'
import {
  all,
  either,
  fixed,
  hasAnyLabel,
  hasLabelWhere,
  isAnyOf,
  keptLimit,
  listParameter,
  selectorCondition,
  timeParameter,
} from '../../sql/parameters.ts'
import { bytesOf, untilBytes } from '../../sql/parts.ts'
import { changeLog, deploymentNames, deployments, instances, targets } from '../../tables/schema.ts'
import { sawOrigin, tellsOfHere, visibleSubject } from '../access-scope.ts'

/** A range of revisions, both inclusive. Null: no bound. */
export interface Range {
  readonly from: Revision | null
  readonly to: Revision | null
}

/** A range of changes in one direction. Without a limit, the order is undefined. */
export interface ChangeStretch extends Range {
  readonly reversed: boolean
  readonly limit: number | null
}

const entry = alias(changeLog, 'entry')
const named = alias(targets, 'named')
const revision = fixed(sql`(${entry.firstRevision} + body.ord - 1)`)

/** The first entry to read for a revision: an entry that begins before it may contain it. */
export function firstEntry(from: Revision): SQL {
  return sql`coalesce((select max(${changeLog.firstRevision}) from ${changeLog} where ${changeLog.firstRevision} <= ${from}::bigint), 0)`
}

/**
 * The next `limit` entries with a change at or after `from`, and of fewer if they are large. They are not expanded, which is cheaper for so many. `labels`: of the
 * target, at its first entry only, because a device may have fifty kilobytes of labels and hundreds of entries.
 */
export function selectEntries(from: Revision, to: Revision | null, limit: number): SQL {
  const until = to === null ? sql`` : sql`and ${changeLog.firstRevision} <= ${to}::bigint`
  const entries = sql`select * from ${changeLog}
    where ${changeLog.firstRevision} >= ${firstEntry(from)} and ${changeLog.lastRevision} >= ${from}::bigint ${until}
    order by ${changeLog.firstRevision} limit ${limit}`
  const labelled = sql`select entries.*, case when row_number() over (partition by target_key order by first_revision) = 1
    then (select ${named.labels} from ${targets} ${named} where ${named.key} = entries.target_key) end as labels from (${entries}) as entries`
  return sql`(select part.* ${untilBytes(labelled, sql`size + ${bytesOf(sql`labels`)}`, sql`first_revision`)})`
}

const eachChange =
  fixed(sql`select ${revision} as revision, ${entry.firstRevision}, body.ord, ${entry.at}, ${entry.observedAt}, ${entry.traceparent}, ${entry.deploymentKey}, ${entry.resourceKey},
      ${entry.targetKey}, ${entry.fromTargetKey}, ${entry.rolloutKey}, ${entry.fromRolloutKey}, ${entry.instanceKey}, body.change
    from ${changeLog} ${entry} cross join lateral json_array_elements(${entry.changes}) with ordinality as body(change, ord)`)

/** The changes of a stretch that match `conditions`, which may use `entry` and body.change. */
export function selectChanges({ from, to, reversed, limit }: ChangeStretch, conditions: readonly SQL[]): SQL {
  const bounds = [
    ...(from === null ? [] : [sql`${entry.firstRevision} >= ${firstEntry(from)} and ${revision} >= ${from}::bigint`]),
    ...(to === null ? [] : [sql`${entry.firstRevision} <= ${to}::bigint and ${revision} <= ${to}::bigint`]),
  ]
  return sql`${eachChange}
    where ${all([...bounds, ...conditions])}
    ${limit === null ? sql`` : inOrder(sql`${entry.firstRevision}`, sql`body.ord`, reversed, limit)}`
}

function inOrder(first: SQL, ord: SQL, reversed: boolean, limit: number): SQL {
  return reversed
    ? sql`order by ${first} desc, ${ord} desc limit ${keptLimit(limit)}`
    : sql`order by ${first}, ${ord} limit ${keptLimit(limit)}`
}

/** `select …` with the present names of the subjects: `change` is rows of selectChanges or selectEntries. */
export function nameChanges(columns: SQL, change: SQL, labels = ofTarget): SQL {
  return sql`select ${columns}, ${labels} as labels, ${subjectColumns} from ${change} ${withNames}`
}

const ofTarget = fixed(sql`coalesce(target.labels, '[]')`)

const subjectColumns =
  fixed(sql`change.at, change.observed_at as "observedAt", change.traceparent, change.deployment_key as "deploymentKey",
  subject.deployment_id as "deploymentId", change.resource_key as "resourceKey", change.target_key as "targetKey",
  target.kind as "targetKind", target.name as "targetName", change.from_target_key as "fromTargetKey",
  origin.name as "fromTargetName", change.rollout_key as "rolloutKey",
  change.from_rollout_key as "fromRolloutKey", change.instance_key as "instanceKey", run.instance_id as "instanceId"`)

/** Looked up row by row (lateral-lookup.ts): where statistics are young, the planner would read whole tables for a few rows. */
const withNames =
  fixed(sql`left join lateral (select ${deployments.deploymentId} from ${deployments} where ${deployments.key} = change.deployment_key offset 0) as subject on true
    left join lateral (select ${targets.kind}, ${targets.name}, ${targets.labels} from ${targets} where ${targets.key} = change.target_key offset 0) as target on true
    left join lateral (select ${targets.name} from ${targets} where ${targets.key} = change.from_target_key offset 0) as origin on true
    left join lateral (select ${instances.instanceId} from ${instances} where ${instances.key} = change.instance_key offset 0) as run on true`)

/** The entries of a deployment, without those of its resources, which have a separate index. */
export function ofDeployment(key: SQL): SQL {
  return sql`${entry.deploymentKey} = ${key} and ${entry.resourceKey} is null`
}

function ofResources(key: SQL): SQL {
  return sql`${entry.deploymentKey} = ${key} and ${entry.resourceKey} is not null`
}

export function ofResource(key: SQL): SQL {
  return sql`${entry.resourceKey} = ${key}`
}

export function ofComponent(name: SQL): SQL {
  return sql`body.change ->> 'component' = ${name}`
}

/** Entries that begin between two revisions. */
export function beginsWithin(low: SQL, high: SQL): SQL {
  return sql`${entry.firstRevision} between ${low} and ${high}`
}

/** matchesChange of domain/nouns/change.ts in SQL, restricted to what the reader sees. An origin counts if the reader saw the subject there. */
export function matchesChangeRow(reader: Pick<Session, 'accessScope'>, filter: ChangeFilter): SQL[] {
  return [
    ...visibleSubject(reader, entry),
    ...tellsOfHere(reader, sql`body.change`, entry),
    ...conditionsIn(conditionsFor(reader), filter),
  ]
}

function conditionsFor(reader: Pick<Session, 'accessScope'>): Conditions<ChangeFilter> {
  const sawIt = sawOrigin(reader, entry)
  const onAny = (targetKeys: SQL): SQL =>
    sql`(${entry.targetKey} in (${targetKeys}) or ${all([sql`${entry.fromTargetKey} in (${targetKeys})`, isOneOf(kindsOfBothTargets), ...sawIt])})`
  const isState = sql`body.change ->> 'kind' in ('DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED')`
  const conditions: Conditions<ChangeFilter> = {
    kinds: isOneOf,
    deploymentIds: (ids) => sql`${entry.deploymentKey} in (${deploymentsNamed(ids)})`,
    deviceIds: (ids) => onAny(devicesNamed(ids)),
    rolloutKeys: (keys) =>
      either([
        isAnyOf(entry.rolloutKey, keys, 'bigint'),
        all([isAnyOf(entry.fromRolloutKey, keys, 'bigint'), isOneOf(kindsOfBothRollouts), ...sawIt]),
      ]),
    instanceIds: (ids) => sql`${entry.instanceKey} in (${instancesNamed(ids)})`,
    components: (names) => isAnyOf(sql`body.change ->> 'component'`, names, 'text'),
    to: (states) => sql`${isState} and ${isAnyOf(sql`body.change ->> 'to'`, states, 'text')}`,
    labels: (labels) =>
      sql`${entry.targetKey} in (select ${named.key} from ${targets} ${named} where ${hasAnyLabel(named.labels, labels)})`,
    label: hasTargetLabel,
    errorCodes: (codes) => isAnyOf(sql`body.change -> 'error' ->> 'code'`, codes, 'text'),
    since: (time) => sql`${entry.at} >= ${timeParameter(time)}`,
    before: (time) => sql`${entry.at} < ${timeParameter(time)}`,
    where: (selector) => selectorCondition<ChangeCondition>(selector, (leaf) => conditionsIn(conditions, leaf)),
  }
  return conditions
}

function isOneOf(kinds: readonly ChangeKind[]): SQL {
  return isAnyOf(sql`body.change ->> 'kind'`, kinds, 'text')
}

/** A change without a target has no labels. */
function hasTargetLabel(condition: LabelCondition): SQL {
  return sql`coalesce((select ${hasLabelWhere(named.labels, condition)} from ${targets} ${named} where ${named.key} = ${entry.targetKey}),
    ${hasLabelWhere(sql`'[]'::jsonb`, condition)})`
}

/**
 * Like selectChanges, for a filter that names subjects (subjectsOf in domain/nouns/change.ts): one range of an index per subject, of which a page reads the first
 * rows. `parts`: of the log, each a `first` and a `last` revision in the order of the stretch. Entries outside them are not read.
 */
export function selectBySubject(
  reader: Pick<Session, 'accessScope'>,
  stretch: ChangeStretch,
  filter: ChangeFilter,
  subjects: ChangeCondition,
  parts: SQL | null = null,
): SQL {
  const conditions = matchesChangeRow(reader, filter)
  const ofRun = (isOf: SQL): SQL =>
    parts ? selectInParts(parts, stretch, [isOf, ...conditions]) : selectChanges(stretch, [isOf, ...conditions])
  const runs = runsOf(subjects).map(
    ({ keys, isOf }) => sql`(select in_run.* from (${keys}) as run(key) cross join lateral (${ofRun(isOf)}) as in_run)`,
  )
  const ending =
    stretch.limit === null ? sql`` : inOrder(sql`first_revision`, sql`ord`, stretch.reversed, stretch.limit)
  return sql`select * from (${sql.join(runs, sql` union all `)}) as in_runs ${ending}`
}

/**
 * A lateral join keeps the order of the parts and reads them lazily, so a page reads no part behind its last row. Without a limit, `offset 0` keeps the planner
 * from reading all entries of the subject and comparing each with the parts.
 */
function selectInParts(parts: SQL, stretch: ChangeStretch, conditions: readonly SQL[]): SQL {
  const isInPart = sql`${entry.firstRevision} >= part.first and ${entry.firstRevision} <= part.last`
  const inPart = selectChanges(stretch, [isInPart, ...conditions])
  const [kept, most] = stretch.limit === null ? [sql`offset 0`, sql``] : [sql``, sql`limit ${keptLimit(stretch.limit)}`]
  return sql`select in_part.* from (${parts}) as part cross join lateral (${inPart} ${kept}) as in_part ${most}`
}

/** The changes of a rollout, and those with which a deployment left it, as a filter by rollouts has them. One range of an index for each. */
export function selectOfRollout(
  reader: Pick<Session, 'accessScope'>,
  key: SQL,
  filter: ChangeFilter,
  stretch: ChangeStretch,
): SQL {
  const conditions = matchesChangeRow(reader, filter)
  const own = selectChanges(stretch, [sql`${entry.rolloutKey} = ${key}`, ...conditions])
  const hasLeft = sql`${entry.fromRolloutKey} = ${key} and ${entry.rolloutKey} is distinct from ${key}`
  const left = selectChanges(stretch, [
    hasLeft,
    isOneOf(kindsOfBothRollouts),
    ...sawOrigin(reader, entry),
    ...conditions,
  ])
  const ending =
    stretch.limit === null ? sql`` : inOrder(sql`first_revision`, sql`ord`, stretch.reversed, stretch.limit)
  return sql`select * from ((${own}) union all (${left})) as of_rollout ${ending}`
}

/** The subjects. No entry belongs to two of them. */
function runsOf({
  deploymentIds,
  deviceIds,
  instanceIds,
  rolloutKeys,
}: ChangeCondition): { readonly keys: SQL; readonly isOf: SQL }[] {
  const ofRunDeployment = ofDeployment(sql`run.key`)
  if (deploymentIds) {
    const keys = deploymentsNamed(deploymentIds)
    return [
      { keys, isOf: ofRunDeployment },
      { keys, isOf: ofResources(sql`run.key`) },
    ]
  }
  if (deviceIds) {
    const devices = devicesNamed(deviceIds)
    const everThere = sql`select ${deployments.key} from ${deployments} where ${deployments.targetKey} in (${devices})
      union select ${changeLog.deploymentKey} from ${changeLog} where ${changeLog.fromTargetKey} in (${devices})`
    return [
      { keys: everThere, isOf: ofRunDeployment },
      { keys: devices, isOf: sql`${entry.deploymentKey} is null and ${entry.targetKey} = run.key` },
    ]
  }
  if (instanceIds) return [{ keys: instancesNamed(instanceIds), isOf: sql`${entry.instanceKey} = run.key` }]
  const keys = [...new Set(rolloutKeys ?? [])]
  const each = sql`select unnest(${listParameter(keys, 'bigint')})`
  return [
    { keys: each, isOf: sql`${entry.rolloutKey} = run.key` },
    {
      keys: each,
      isOf: sql`${entry.fromRolloutKey} = run.key and (${isAnyOf(entry.rolloutKey, keys, 'bigint')}) is not true`,
    },
  ]
}

function deploymentsNamed(ids: readonly string[]): SQL {
  return sql`select ${deploymentNames.deploymentKey} from ${deploymentNames} where ${isAnyOf(deploymentNames.deploymentId, ids, 'text')}`
}

function instancesNamed(ids: readonly string[]): SQL {
  return sql`select ${instances.key} from ${instances} where ${isAnyOf(instances.instanceId, ids, 'text')}`
}

function devicesNamed(names: readonly string[]): SQL {
  return sql`select ${named.key} from ${targets} ${named}
    where ${named.kind} = 'DEVICE' and ${named.provider} = '' and ${isAnyOf(named.name, names, 'text')}`
}
