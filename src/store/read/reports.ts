import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import type { Order, Page, PageRequest } from '../sql/order.ts'
import { pageOf, sorted, within } from '../sql/page.ts'
import { all, asParents } from '../sql/parameters.ts'
import { type ReportRecord, type ReportRow, reportColumns, toReport } from '../sql/rows.ts'
import { changeLog, logHead, reports } from '../tables/schema.ts'
import { visibleReport } from './access-scope.ts'

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

function fromReports(reader: Session, until: Revision | null, bounds: readonly SQL[]): SQL {
  const heard = until === null ? [] : [heardUntil(until)]
  return sql`from ${reports} where ${all([sql`${reports.deploymentKey} = parent.key`, ...heard, ...visibleReport(reader, reports), ...bounds])}`
}

/** A report without a revision is placed by its time of arrival, which is never later than the log's time. */
function heardUntil(until: Revision): SQL {
  const then = sql`coalesce(
    (select ${changeLog.at} from ${changeLog} where ${changeLog.firstRevision} <= ${until}::bigint
      order by ${changeLog.firstRevision} desc limit 1),
    (select ${logHead.tailAt} from ${logHead}))`
  return sql`case when ${reports.revision} is null then ${reports.receivedAt} <= ${then} else ${reports.revision} <= ${until}::bigint end`
}
