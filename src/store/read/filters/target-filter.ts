/** Conditions on a device, a cluster or a cloud region: for lists of devices, and for lists of deployments, changes and resources by where they are. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { LabelCondition } from '../../../domain/selectors/label-condition.ts'
import { type Connectivity, type Label, ownSite } from '../../../domain/target.ts'
import { isStorable, storableJson } from '../../../domain/text.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Conditions } from '../../sql/conditions.ts'
import {
  all,
  either,
  hasAnyLabel,
  hasLabelWhere,
  isAnyOf,
  isLong,
  listParameter,
  timeParameter,
} from '../../sql/parameters.ts'
import { deviceProfiles, maintenancePeriods as period, targets } from '../../tables/schema.ts'
import { callsItself } from '../targets/profiles.ts'

/** Any value within a field, and all fields together. */
export interface TargetCondition {
  /** Names of devices. */
  readonly deviceIds?: readonly string[]
  /** `provider+name`, or `+name` for any provider. For a cloud region its name. */
  readonly clusters?: readonly string[]
  /** Paths of sites: it is at one of them, or below one. */
  readonly sites?: readonly string[]
  /** Names of devices that are its parent. */
  readonly parents?: readonly string[]
  /** It has one of these labels: from its registration, or from the device itself. */
  readonly labels?: readonly Label[]
  readonly label?: LabelCondition
  readonly connectivity?: readonly Connectivity[]
  readonly inMaintenance?: boolean | MaintenanceThen
  readonly lastHeardAfter?: Millis
  /** Or never heard. */
  readonly lastHeardBefore?: Millis
  /** As its capabilities say. */
  readonly vendors?: readonly string[]
  readonly models?: readonly string[]
}

/** Whether a target was in a maintenance window at a revision. */
export interface MaintenanceThen {
  readonly wanted: boolean
  readonly at: Revision
}

/** A row of targets under any name. */
export type TargetRow = ReturnType<typeof targetRow>
export const targetRow = (name: string) => alias(targets, name)

export const parentRow = targetRow('parent_device')

/** `seesParent`: the conditions that the reader sees a parent. Without them, a filter would reveal its name. */
export function targetConditions(t: TargetRow, seesParent: readonly SQL[]): Conditions<TargetCondition> {
  return {
    deviceIds: (names) => all([isDeviceRow(t), isAnyOf(t.name, names, 'text')]),
    clusters: (names) => isPlace(t, names),
    parents: (names) =>
      sql`${t.parentKey} in (select ${parentRow.key} from ${targets} ${parentRow}
        where ${all([isDeviceRow(parentRow), isAnyOf(parentRow.name, names, 'text'), ...seesParent])})`,
    sites: (paths) => sql`${t.siteKey} <> ${ownSite} and ${t.siteKey} in (${sitesAt(paths)})`,
    labels: (labels) => either([hasAnyLabel(t.labels, labels), callsItself(t, labels)]),
    label: (condition) => hasEffectiveLabel(t, condition),
    connectivity: (values) => isAnyOf(t.connectivity, values, 'connectivity'),
    inMaintenance: (asked) =>
      typeof asked === 'boolean'
        ? sql`(${t.maintenanceKey} is not null) = ${asked}::boolean`
        : sql`exists (select 1 ${periodsAt(asked.at)} and ${period.targetKey} = ${t.key}) = ${asked.wanted}::boolean`,
    lastHeardAfter: (time) => sql`${t.lastHeardAt} > ${timeParameter(time)}`,
    lastHeardBefore: (time) => sql`(${t.lastHeardAt} is null or ${t.lastHeardAt} < ${timeParameter(time)})`,
    vendors: (names) => hasCapability(t, 'vendor', names),
    models: (names) => hasCapability(t, 'modelNumber', names),
  }
}

const siteRow = targetRow('site')

/** The sites with these paths, and those below them. They are few. */
function sitesAt(paths: readonly string[]): SQL {
  const listed = sql`unnest(${listParameter(paths.filter(isStorable), 'text')}) as path`
  return sql`select ${siteRow.key} from ${targets} ${siteRow} where ${siteRow.kind} = 'SITE' and exists (
    select from ${listed} where ${siteRow.name} = path or starts_with(${siteRow.name}, path || '/'))`
}

/** `from … where …` of the periods of targets in maintenance at a revision. */
export function periodsAt(revision: Revision): SQL {
  const at = sql`${revision}::bigint`
  return sql`from ${period} where ${period.beganRevision} <= ${at} and (${period.endedRevision} > ${at} or ${period.endedRevision} is null)`
}

/** A target is in one window at a time. */
function inMaintenanceAt(revision: Revision): SQL {
  return sql`select ${period.targetKey} as key ${periodsAt(revision)}`
}

export const isDeviceRow = (t: TargetRow): SQL => sql`${t.kind} = 'DEVICE' and ${t.provider} = ''`

/** A provider contains no `+`, and an empty one matches any. A name without `+` is a cloud region. */
function isPlace(t: TargetRow, names: readonly string[]): SQL {
  const storable = names.filter(isStorable)
  if (isLong(storable)) return isListedPlace(t, storable)
  return either(
    storable.map((name) => {
      const cut = name.indexOf('+')
      if (cut < 0) return sql`${t.kind} = 'CLOUD_REGION' and ${t.name} = ${name}`
      const ofProvider = cut === 0 ? [] : [sql`${t.provider} = ${name.slice(0, cut)}`]
      return sql`(${all([sql`${t.kind} = 'CLUSTER' and ${t.name} = ${name.slice(cut + 1)}`, ...ofProvider])})`
    }),
  )
}

/** The same for a long list, in three parameters. */
function isListedPlace(t: TargetRow, names: readonly string[]): SQL {
  const clusters = names.filter((name) => name.indexOf('+') > 0)
  const cut = clusters.map((name) => name.indexOf('+'))
  const providers = clusters.map((name, at) => name.slice(0, cut[at]))
  const own = clusters.map((name, at) => name.slice((cut[at] ?? 0) + 1))
  const ofAny = names.filter((name) => name.startsWith('+')).map((name) => name.slice(1))
  const regions = names.filter((name) => !name.includes('+'))
  return either([
    sql`${t.kind} = 'CLUSTER' and (${t.provider}, ${t.name}) in
      (select * from unnest(${listParameter(providers, 'text')}, ${listParameter(own, 'text')}))`,
    sql`${t.kind} = 'CLUSTER' and ${isAnyOf(t.name, ofAny, 'text')}`,
    sql`${t.kind} = 'CLOUD_REGION' and ${isAnyOf(t.name, regions, 'text')}`,
  ])
}

/** A label of the registration wins over one that the device gives itself. */
function hasEffectiveLabel(t: TargetRow, condition: LabelCondition): SQL {
  if (!isStorable(condition.key)) return hasLabelWhere(sql`'[]'::jsonb`, condition)
  const isRegistered = sql`${t.labels} @> ${storableJson([{ key: condition.key }])}::text::jsonb`
  return sql`case when ${isRegistered} then ${hasLabelWhere(t.labels, condition)}
    else coalesce((select ${hasLabelWhere(deviceProfiles.labels, condition)} from ${deviceProfiles} where ${deviceProfiles.targetKey} = ${t.key}),
      ${hasLabelWhere(sql`'[]'::jsonb`, condition)}) end`
}

function hasCapability(t: TargetRow, name: 'vendor' | 'modelNumber', values: readonly string[]): SQL {
  return sql`exists (select 1 from ${deviceProfiles} where ${deviceProfiles.targetKey} = ${t.key} and ${isAnyOf(capability(name), values, 'text')})`
}

function withCapability(name: 'vendor' | 'modelNumber', values: readonly string[]): SQL {
  return sql`select ${deviceProfiles.targetKey} as key from ${deviceProfiles} where ${isAnyOf(capability(name), values, 'text')}`
}

/** The same text as in the indexes (tables/desired.ts). */
const capability = (name: 'vendor' | 'modelNumber'): SQLWrapper =>
  sql`device_capability(${deviceProfiles.capabilities}, ${sql.raw(`'${name}'`)})`

/** The targets of one condition. `isExact`: all of them match it. */
interface IndexedTargets {
  readonly field: Exclude<keyof TargetCondition, 'parents'>
  readonly keys: SQL
  readonly isExact: boolean
}

/**
 * Selects of the keys of targets that may match, each by a part of the condition. An index finds them, except those by the time of the last report:
 * an index of it would make each heartbeat dearer, and there are fewer targets than deployments. Long lists of labels are compared with all targets, too. The
 * labels that devices give themselves have an index of their own.
 */
export function targetsByIndex(t: TargetRow, condition: TargetCondition): readonly IndexedTargets[] {
  const { deviceIds, clusters, sites, labels, label, vendors, models, connectivity, inMaintenance } = condition
  const { lastHeardAfter, lastHeardBefore } = condition
  const from = (where: SQL): SQL => sql`select ${t.key} as key from ${targets} ${t} where ${where}`
  const conditions = targetConditions(t, [])
  const choices: { readonly [Field in IndexedTargets['field']]: SQL | false | null | undefined } = {
    deviceIds: deviceIds && from(conditions.deviceIds(deviceIds)),
    clusters: clusters && from(conditions.clusters(clusters)),
    sites: sites && from(conditions.sites(sites)),
    labels: labels && labelled(t, (row) => hasAnyLabel(row, labels)),
    label: label && withLabel(t, label),
    vendors: vendors && withCapability('vendor', vendors),
    models: models && withCapability('modelNumber', models),
    connectivity: connectivity && byConnectivity(t, conditions.connectivity(connectivity)),
    inMaintenance:
      typeof inMaintenance === 'object'
        ? inMaintenance.wanted && inMaintenanceAt(inMaintenance.at)
        : inMaintenance && from(sql`${t.maintenanceKey} is not null`),
    lastHeardAfter: lastHeardAfter !== undefined && from(conditions.lastHeardAfter(lastHeardAfter)),
    lastHeardBefore: lastHeardBefore !== undefined && from(conditions.lastHeardBefore(lastHeardBefore)),
  }
  const fields = Object.keys(choices) as IndexedTargets['field'][]
  return fields.flatMap((field) => {
    const keys = choices[field]
    // A label of the registration wins over one that the device gives itself.
    return keys ? [{ field, keys, isExact: field !== 'label' && field !== 'labels' }] : []
  })
}

function withLabel(t: TargetRow, { key, equals, in: some, notIn, exists, prefix }: LabelCondition): SQL | null {
  const values = equals === undefined ? some : [equals]
  if (exists === false) return null
  if (values)
    return labelled(t, (row) =>
      hasAnyLabel(
        row,
        values.map((value) => ({ key, value })),
      ),
    )
  if (notIn && exists === undefined && prefix === undefined) return null
  return labelled(t, (row) => hasLabelWhere(row, { key, exists: true }))
}

/** The index has the devices in service. Few targets are others. */
function byConnectivity(t: TargetRow, condition: SQL): SQL {
  const parts = [
    sql`${t.kind} = 'DEVICE' and ${t.retiredAt} is null`,
    sql`${t.kind} = 'DEVICE' and ${t.retiredAt} is not null`,
    sql`${t.kind} in ('CLUSTER', 'CLOUD_REGION')`,
  ]
  return sql.join(
    parts.map((part) => sql`(select ${t.key} as key from ${targets} ${t} where ${part} and ${condition})`),
    sql` union all `,
  )
}

/** The keys of targets that may have the label. One of the registration wins over one that the device gives itself. */
export const targetsWithLabel = (t: TargetRow, label: Label): SQL => labelled(t, (row) => hasAnyLabel(row, [label]))

/** Without duplicates, and row by row: a limit ends it early. */
function labelled(t: TargetRow, condition: (labels: SQLWrapper) => SQL): SQL {
  return sql`select ${t.key} as key from ${targets} ${t} where ${condition(t.labels)}
    union all select ${deviceProfiles.targetKey} from ${deviceProfiles} where ${condition(deviceProfiles.labels)}
      and not exists (select 1 from ${targets} ${t} where ${t.key} = ${deviceProfiles.targetKey} and ${condition(t.labels)} offset 0)`
}
