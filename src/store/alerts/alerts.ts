/** Reads alerts and their rules. An alert's row has the revisions of all its changes, so its state at any revision is exact. */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Alert, type AlertSeverity, alertAt } from '../../domain/alerts/alert.ts'
import type { alertFilter } from '../../domain/nouns/alert.ts'
import type { FilterOf } from '../../domain/nouns/filter.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { visibleAlert } from '../read/access-scope.ts'
import { type Conditions, conditionsIn } from '../sql/conditions.ts'
import type { Order, Page, PageRequest } from '../sql/order.ts'
import { pageOf, sorted, within } from '../sql/page.ts'
import { all, asParents, either, isAnyOf, timeParameter } from '../sql/parameters.ts'
import { alertRules, alerts } from '../tables/schema.ts'
import { type AlertRecord, alertColumns, type RuleRecord, type StoredRule, toAlert, toRule } from './rows.ts'

export interface AlertRow extends Alert {
  /** Null: the present. */
  readonly asOf: Revision | null
}

export type AlertFilter = FilterOf<typeof alertFilter>

/** Results are by the key of the rollout, 0 for all alerts. */
type AlertScope = { readonly of: 'all' } | { readonly of: 'rollout'; readonly keys: readonly number[] }

const newestFirst: Order<Alert> = {
  name: 'ALERT',
  keys: [{ by: alerts.raisedRevision, type: 'bigint', descending: true, of: (alert) => alert.raisedRevision }],
}

export function pageAlerts(
  session: Session,
  scope: AlertScope,
  filter: AlertFilter,
  page: PageRequest,
  asOf: Revision | null,
): Promise<Map<number, Page<AlertRow>>> {
  return pageOf<AlertRow, AlertRecord>(session, {
    parents: parentsOf(scope),
    order: newestFirst,
    page,
    columns: alertColumns('page_row'),
    select: (stretch) =>
      sql`select ${alerts}.* ${fromAlerts(session, scope, filter, asOf, within(newestFirst, stretch))} ${sorted(newestFirst, stretch)}`,
    toNode: (row) => toRow(row, asOf),
  })
}

/** Zero-filled. */
export async function countAlerts(
  session: Session,
  scope: AlertScope,
  filter: AlertFilter,
  asOf: Revision | null,
): Promise<Map<number, number>> {
  const parents = parentsOf(scope)
  const rows = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, counted.n from ${asParents(parents)}
      cross join lateral (select count(*)::int as n ${fromAlerts(session, scope, filter, asOf, [])}) as counted`,
  )
  return new Map(rows.map(({ parent, n }) => [parent, n]))
}

export async function alertsByKey(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, AlertRow>> {
  const conditions = [isAnyOf(alerts.key, keys, 'bigint'), ...existed(asOf), ...visibleAlert(session, alerts)]
  const rows = await session.rows<AlertRecord>(sql`select ${alerts}.* from ${alerts} where ${all(conditions)}`)
  return new Map(rows.map((row) => [row.key, toRow(row, asOf)]))
}

/** Whether an alert was raised or resolved after a revision. */
export async function hasAlertsAfter(session: Session, revision: Revision): Promise<boolean> {
  const after = (column: SQLWrapper): SQL => sql`exists (select 1 from ${alerts} where ${column} > ${revision}::bigint)`
  const [row] = await session.rows<{ found: boolean }>(
    sql`select ${after(alerts.raisedRevision)} or ${after(alerts.resolvedRevision)} as found`,
  )
  return row?.found ?? false
}

/** The alerts that fire, and those that were resolved after a revision or a time. */
export async function alertsSince(session: Session, revision: Revision, time: Millis): Promise<Alert[]> {
  const rows = await session.rows<AlertRecord>(
    sql`select ${alerts}.* from ${alerts} where ${alerts.resolvedRevision} is null
      union all select ${alerts}.* from ${alerts} where ${alerts.resolvedRevision} > ${revision}::bigint
      union all select ${alerts}.* from ${alerts} where ${alerts.resolvedAt} > ${timeParameter(time)} and ${alerts.resolvedRevision} <= ${revision}::bigint`,
  )
  return rows.map(toAlert)
}

/** By name, without deleted ones. */
export async function listAlertRules(session: Session): Promise<StoredRule[]> {
  const rows = await session.rows<RuleRecord>(
    sql`select ${alertRules}.* from ${alertRules} where not ${alertRules.deleted} order by ${alertRules.name}`,
  )
  return rows.map(toRule)
}

export async function countFiring(session: Session, ruleKeys: readonly number[]): Promise<Map<number, number>> {
  const rows = await session.rows<{ key: number; n: number }>(
    sql`select ${alerts.ruleKey} as key, count(*)::int as n from ${alerts}
      where ${alerts.resolvedRevision} is null and ${isAnyOf(alerts.ruleKey, ruleKeys, 'bigint')} group by 1`,
  )
  return new Map(rows.map(({ key, n }) => [key, n]))
}

interface FiringFigures {
  readonly rule: string
  readonly severity: AlertSeverity
  readonly n: number
}

/** By rule and severity, the most first. */
export function countFiringByRule(session: Session): Promise<FiringFigures[]> {
  return session.rows(
    sql`select ${alerts.rule}, ${alerts.severity}, count(*)::int as n from ${alerts}
      where ${alerts.resolvedRevision} is null group by 1, 2 order by n desc, 1, 2`,
  )
}

function toRow(record: AlertRecord, asOf: Revision | null): AlertRow {
  const alert = toAlert(record)
  return { ...(asOf === null ? alert : alertAt(alert, asOf)), asOf }
}

function parentsOf(scope: AlertScope): readonly number[] {
  return scope.of === 'all' ? [0] : [...new Set(scope.keys)]
}

function fromAlerts(
  reader: Session,
  scope: AlertScope,
  filter: AlertFilter,
  asOf: Revision | null,
  bounds: readonly SQL[],
): SQL {
  const own = scope.of === 'rollout' ? [sql`${alerts.rolloutKey} = parent.key`] : []
  const conditions = [
    ...own,
    ...existed(asOf),
    ...visibleAlert(reader, alerts),
    ...conditionsIn(conditionsAt(asOf), filter),
    ...bounds,
  ]
  return sql`from ${alerts} where ${all(conditions)}`
}

function existed(asOf: Revision | null): SQL[] {
  return asOf === null ? [] : [sql`${alerts.raisedRevision} <= ${asOf}::bigint`]
}

function conditionsAt(asOf: Revision | null): Conditions<AlertFilter> {
  const happened = (revision: typeof alerts.resolvedRevision | typeof alerts.acknowledgedRevision): SQL =>
    asOf === null ? sql`${revision} is not null` : sql`coalesce(${revision} <= ${asOf}::bigint, false)`
  const isResolved = happened(alerts.resolvedRevision)
  // "is null" alone uses the index of firing alerts.
  const isFiring = asOf === null ? sql`${alerts.resolvedRevision} is null` : sql`not ${isResolved}`
  return {
    states: (states) => either([...new Set(states)].map((state) => (state === 'FIRING' ? isFiring : isResolved))),
    severities: (severities) => isAnyOf(sql`${alerts.severity}::text`, severities, 'text'),
    rules: (rules) => isAnyOf(alerts.rule, rules, 'text'),
    rolloutKeys: (keys) => isAnyOf(alerts.rolloutKey, keys, 'bigint'),
    acknowledged: (wanted) => sql`${happened(alerts.acknowledgedRevision)} = ${wanted}::boolean`,
  }
}
