/** The reports within a range of revisions, by deployment and by arrival: the order of the only index that has all of them. */
import { type SQL, sql } from 'drizzle-orm'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { all, timeParameter } from '../../sql/parameters.ts'
import { type ReportRecord, type ReportRow, reportColumns, toReport } from '../../sql/rows.ts'
import { changeLog, deployments, reports } from '../../tables/schema.ts'
import { visibleReport } from '../access-scope.ts'
import { isListed } from '../deployment-scope.ts'
import { type DeploymentFilter, d, filterAt, matchesFound } from '../filters/deployment-filter.ts'
import { openPast } from '../past.ts'
import { fromPast, present } from '../past-rows.ts'
import { endOfWindow } from './deployments.ts'

export interface ReportExtent {
  /** After it. Null: from the first one that is stored. */
  readonly from: Revision | null
  readonly to: Revision
  /** When each was recorded: these place reports without a revision. */
  readonly fromAt: Millis
  readonly toAt: Millis
  readonly since: Millis | null
  readonly before: Millis | null
  /** Only reports with these keys. */
  readonly keys?: { readonly after: number; readonly upTo: number }
  /** Of the deployments as of `to`. */
  readonly filter: DeploymentFilter
}

export interface ReportPlace {
  readonly deploymentKey: number
  readonly key: number
}

export interface ExportedReport extends ReportRow {
  readonly deploymentId: string
  /** Where the deployment was. Null: unknown. */
  readonly placeTarget: number | null
  readonly placeRollout: number | null
  readonly errorCode: string | null
  readonly errorMessage: string | null
  /** Of its change. Null: the report made none, or had no trace context. */
  readonly traceparent: string | null
}

interface ReportPart {
  readonly rows: readonly ExportedReport[]
  /** Null: there are no more. */
  readonly next: ReportPlace | null
}

interface ExportedRecord extends ReportRecord {
  readonly deployment_id: string
  readonly place_target: number | null
  readonly place_rollout: number | null
  readonly error_code: string | null
  readonly error_message: string | null
  readonly traceparent: string | null
}

/** Deployments that are looked at in one part, where a condition may match few of them. */
const window = 500
/** An error may be as large as the body of a report. */
const longestMessage = 4_000

export async function readReports(
  session: Session,
  extent: ReportExtent,
  after: ReportPlace,
  size: number,
): Promise<ReportPart> {
  const isNarrow = session.accessScope !== undefined || presentFields(extent.filter).length > 0
  const last = isNarrow ? await endOfWindow(session, after.deploymentKey, window) : null
  if (isNarrow && last === null) return { rows: [], next: null }
  const conditions = [
    sql`(${reports.deploymentKey}, ${reports.key}) > (${after.deploymentKey}::bigint, ${after.key}::bigint)`,
    ...(last === null ? [] : [sql`${reports.deploymentKey} <= ${last.key}::bigint`]),
    ...isWithin(extent),
    ...(last === null ? [] : await matchesFilter(session, extent, after.deploymentKey, last.key)),
    ...visibleReport(session, reports, 'any'),
  ]
  const records = await session.rows<ExportedRecord>(
    sql`select ${reportColumns('reports')}, named.deployment_id, coalesce(reports.target_key, place.target_key) as place_target,
        coalesce(reports.rollout_key, place.rollout_key) as place_rollout, reports.error ->> 'code' as error_code,
        left(reports.error ->> 'message', ${longestMessage}) as error_message, place.traceparent
      from (select ${reports}.* from ${reports} where ${all(conditions)}
        order by ${reports.deploymentKey}, ${reports.key} limit ${size}) as reports
      cross join lateral (select ${deployments.deploymentId} from ${deployments} where ${deployments.key} = reports.deployment_key offset 0) as named
      left join lateral (select ${changeLog.targetKey}, ${changeLog.rolloutKey}, ${changeLog.traceparent} from ${changeLog}
        where ${changeLog.firstRevision} <= reports.revision order by ${changeLog.firstRevision} desc limit 1) as place on true
      order by reports.deployment_key, reports.key`,
  )
  const rows = records.map(toExported)
  const end = rows.at(-1)
  if (end && rows.length === size) return { rows, next: { deploymentKey: end.deploymentKey, key: end.key } }
  return { rows, next: last?.isFull ? { deploymentKey: last.key, key: Number.MAX_SAFE_INTEGER } : null }
}

function isWithin({ from, to, fromAt, toAt, since, before, keys }: ReportExtent): SQL[] {
  const later = from === null ? sql`true` : sql`${reports.revision} > ${from}::bigint`
  const heardLater = from === null ? sql`true` : sql`${reports.receivedAt} >= ${timeParameter(fromAt)}`
  return [
    // A later batch may have the same millisecond as `to`. To leave that millisecond out keeps the export of a revision the same.
    sql`case when ${reports.revision} is null then ${heardLater} and ${reports.receivedAt} < ${timeParameter(toAt)}
      else ${later} and ${reports.revision} <= ${to}::bigint end`,
    ...(keys ? [sql`${reports.key} > ${keys.after}::bigint`, sql`${reports.key} <= ${keys.upTo}::bigint`] : []),
    ...(since === null ? [] : [sql`${reports.receivedAt} >= ${timeParameter(since)}`]),
    ...(before === null ? [] : [sql`${reports.receivedAt} < ${timeParameter(before)}`]),
  ]
}

async function matchesFilter(
  session: Session,
  { filter, to }: ReportExtent,
  first: number,
  last: number,
): Promise<SQL[]> {
  if (presentFields(filter).length === 0) return []
  const past = await openPast(session, to)
  const isNear = sql`${present.key} between ${first}::bigint and ${last}::bigint`
  const conditions = [...isListed(session, { of: 'fleet' }, filter), matchesFound(filterAt(filter, to))]
  return [sql`${reports.deploymentKey} in (select ${d.key} ${fromPast(past, isNear)} and ${all(conditions)})`]
}

function toExported(record: ExportedRecord): ExportedReport {
  return {
    ...toReport(record),
    deploymentId: record.deployment_id,
    placeTarget: record.place_target,
    placeRollout: record.place_rollout,
    errorCode: record.error_code,
    errorMessage: record.error_message,
    traceparent: record.traceparent,
  }
}
