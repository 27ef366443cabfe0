/** Reads maintenance windows. Only callers without an access scope may. */
import { type SQL, sql } from 'drizzle-orm'
import type { MaintenanceWindow } from '../../../domain/maintenance.ts'
import type { Session } from '../../database.ts'
import { emptyPage, type Order, type Page, type PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, asParents } from '../../sql/parameters.ts'
import { toWindow, type WindowRecord } from '../../sql/rows.ts'
import { maintenanceWindows, targets } from '../../tables/schema.ts'

const newestFirst: Order<MaintenanceWindow> = {
  name: 'MAINTENANCE',
  keys: [
    {
      by: maintenanceWindows.plannedRevision,
      type: 'bigint',
      descending: true,
      of: (window) => window.plannedRevision,
    },
  ],
}

const lasts = sql`${maintenanceWindows.nextAt} is not null and ${maintenanceWindows.endedRevision} is null`
const isOver = (wanted: boolean): SQL => (wanted ? sql`not (${lasts})` : lasts)

export async function pageWindows(
  session: Session,
  over: boolean,
  page: PageRequest,
): Promise<Page<MaintenanceWindow>> {
  const pages = await pageOf<MaintenanceWindow, WindowRecord>(session, {
    parents: [0],
    order: newestFirst,
    page,
    select: (stretch) => sql`select ${maintenanceWindows}.* from ${maintenanceWindows}
      where ${all([isOver(over), ...within(newestFirst, stretch)])} ${sorted(newestFirst, stretch)}`,
    toNode: toWindow,
  })
  return pages.get(0) ?? emptyPage
}

export async function countWindows(session: Session, over: boolean): Promise<number> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from ${maintenanceWindows} where ${isOver(over)}`,
  )
  return row?.n ?? 0
}

/** Zero-filled: of each window how many targets are in it. */
export async function countTargetsIn(session: Session, keys: readonly number[]): Promise<Map<number, number>> {
  const rows = await session.rows<{ key: number; n: number }>(
    sql`select parent.key, (select count(*)::int from ${targets} where ${targets.maintenanceKey} = parent.key) as n from ${asParents(keys)}`,
  )
  return new Map(rows.map(({ key, n }) => [key, n]))
}
