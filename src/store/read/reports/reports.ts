import { type SQL, sql } from 'drizzle-orm'
import type { FilterOf } from '../../../domain/nouns/filter.ts'
import type { reportFilter } from '../../../domain/nouns/report.ts'
import type { Verdict } from '../../../domain/report.ts'
import type { Revision, StatusError } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Conditions, conditionsIn } from '../../sql/conditions.ts'
import { emptyPage, type Order, type Page, type PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, asParents, either, isAnyOf, listParameter } from '../../sql/parameters.ts'
import { type ReportRecord, type ReportRow, reportColumns, toReport } from '../../sql/rows.ts'
import { deploymentNames, reports } from '../../tables/schema.ts'
import { visibleReport } from '../access-scope.ts'
import { recordedAt } from '../changes/recorded-at.ts'

/** The writer assigns keys in order. */
const asHeard: Order<ReportRow> = {
  name: 'REPORT',
  keys: [{ by: reports.key, type: 'bigint', descending: false, of: (report) => report.key }],
}

/** In the order of arrival, by deployment key. `until`: only reports that had arrived at that revision. */
export function pageReports(
  session: Session,
  deploymentKeys: readonly number[],
  page: PageRequest,
  until: Revision | null,
): Promise<Map<number, Page<ReportRow>>> {
  return pageOf<ReportRow, ReportRecord>(session, {
    parents: [...new Set(deploymentKeys)],
    order: asHeard,
    page,
    isWhole: true,
    select: (stretch) =>
      sql`select ${reportColumns('reports')} ${fromReports(session, until, within(asHeard, stretch))} ${sorted(asHeard, stretch)}`,
    toNode: toReport,
  })
}

/** Zero-filled. */
export async function countReports(
  session: Session,
  deploymentKeys: readonly number[],
  until: Revision | null,
): Promise<Map<number, number>> {
  const rows = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, counted.n
      from ${asParents([...new Set(deploymentKeys)])}
      cross join lateral (select count(*)::int as n ${fromReports(session, until, [])}) as counted`,
  )
  return new Map(rows.map(({ parent, n }) => [parent, n]))
}

/** The key of a report, and of its deployment. */
export interface ReportKey {
  readonly deploymentKey: number
  readonly key: number
}

/** `… as asked (deployment_key, key)` */
export function asReportKeys(keys: readonly ReportKey[]): SQL {
  const owners = keys.map(({ deploymentKey }) => deploymentKey)
  const own = keys.map(({ key }) => key)
  return sql`unnest(${listParameter(owners, 'bigint')}, ${listParameter(own, 'bigint')}) as asked (deployment_key, key)`
}

/** By the report's key. */
export async function reportsByKey(session: Session, keys: readonly ReportKey[]): Promise<Map<number, ReportRow>> {
  const rows = await session.rows<ReportRecord>(sql`select ${reportColumns('reports')} ${fromAsked(session, keys)}`)
  return new Map(rows.map((row) => [row.key, toReport(row)]))
}

/** By the report's key. Reports without an error are absent. */
export async function errorsOfReports(session: Session, keys: readonly ReportKey[]): Promise<Map<number, StatusError>> {
  const rows = await session.rows<{ readonly key: number; readonly error: StatusError }>(
    sql`select ${reports.key}, ${reports.error} ${fromAsked(session, keys)} and ${reports.error} is not null`,
  )
  return new Map(rows.map(({ key, error }) => [key, error]))
}

function fromAsked(reader: Session, keys: readonly ReportKey[]): SQL {
  return sql`from ${asReportKeys(keys)}
    cross join lateral (select * from ${reports}
      where ${reports.deploymentKey} = asked.deployment_key and ${reports.key} = asked.key offset 0) as ${reports}
    where ${all(visibleReport(reader, reports, 'any'))}`
}

export type ReportFilter = FilterOf<typeof reportFilter>

const newestFirst: Order<ReportRow> = {
  name: 'REPORT_DESC',
  keys: [{ by: reports.key, type: 'bigint', descending: true, of: (report) => report.key }],
}

/**
 * Of the whole fleet, newest first. An index has the STALE reports, and the reports of a deployment. An index of all reports was
 * rejected, because every report would pay for it.
 */
export async function pageFleetReports(
  session: Session,
  filter: ReportFilter,
  page: PageRequest,
): Promise<Page<ReportRow>> {
  const pages = await pageOf<ReportRow, ReportRecord>(session, {
    parents: [0],
    order: newestFirst,
    page,
    select: (stretch) =>
      sql`select ${reportColumns('reports')} ${fromFleet(session, filter, within(newestFirst, stretch))} ${sorted(newestFirst, stretch)}`,
    toNode: toReport,
  })
  return pages.get(0) ?? emptyPage
}

export async function countFleetReports(session: Session, filter: ReportFilter): Promise<number> {
  const [row] = await session.rows<{ n: number }>(sql`select count(*)::int as n ${fromFleet(session, filter, [])}`)
  return row?.n ?? 0
}

/** Whether an index has the reports of this filter. */
export function isServed({ verdicts, deploymentIds }: ReportFilter): boolean {
  return deploymentIds !== undefined || (verdicts?.every((verdict) => verdict === 'STALE') ?? false)
}

const conditions: Conditions<ReportFilter> = {
  verdicts: (verdicts) => either([...new Set(verdicts)].map(isVerdict)),
  deploymentIds: (ids) =>
    sql`${reports.deploymentKey} in (select ${deploymentNames.deploymentKey} from ${deploymentNames} where ${isAnyOf(deploymentNames.deploymentId, ids, 'text')})`,
}

function fromFleet(reader: Session, filter: ReportFilter, bounds: readonly SQL[]): SQL {
  return sql`from ${reports} where ${all([...conditionsIn(conditions, filter), ...visibleReport(reader, reports, 'any'), ...bounds])}`
}

/** As the index writes it, without a parameter: a kept plan can use a partial index then. */
function isVerdict(verdict: Verdict): SQL {
  return sql`${reports.verdict} = ${sql.raw(`'${verdict}'`)}`
}

function fromReports(reader: Session, until: Revision | null, bounds: readonly SQL[]): SQL {
  const heard = until === null ? [] : [heardUntil(until)]
  return sql`from ${reports} where ${all([sql`${reports.deploymentKey} = parent.key`, ...heard, ...visibleReport(reader, reports), ...bounds])}`
}

/** A report without a revision is placed by its time of arrival, which is never later than the log's time. */
function heardUntil(until: Revision): SQL {
  const then = recordedAt(sql`${until}::bigint`)
  return sql`case when ${reports.revision} is null then ${reports.receivedAt} <= ${then} else ${reports.revision} <= ${until}::bigint end`
}
