/** Lists of clusters and cloud regions. There are few beside devices, so no index has their order. */

import { type SQL, sql } from 'drizzle-orm'
import type { clusterFilter } from '../../../domain/nouns/cluster.ts'
import type { FilterOf } from '../../../domain/nouns/filter.ts'
import type { Target } from '../../../domain/target.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { type Conditions, conditionsIn } from '../../sql/conditions.ts'
import { emptyPage, type Page, type PageRequest } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { all, containsText, hasAnyLabel, isAnyOf } from '../../sql/parameters.ts'
import { type TargetRecord, toTarget } from '../../sql/rows.ts'
import { targets } from '../../tables/schema.ts'
import { visibleTarget } from '../access-scope.ts'
import { byName, type TargetOrder, targetOrder } from '../orders/target-order.ts'
import { targetsAt } from './past-targets.ts'

export type ClusterFilter = FilterOf<typeof clusterFilter>

const conditions: Conditions<ClusterFilter> = {
  providers: (providers) => isAnyOf(targets.provider, providers, 'text'),
  names: (names) => isAnyOf(targets.name, names, 'text'),
  labels: (labels) => hasAnyLabel(targets.labels, labels),
  inMaintenance: (wanted) => sql`(${targets.maintenanceKey} is not null) = ${wanted}::boolean`,
  connectivity: (connectivity) => isAnyOf(targets.connectivity, connectivity, 'connectivity'),
  text: (text) => containsText([targets.name, targets.provider], text),
}

export async function pageClusters(
  session: Session,
  filter: ClusterFilter,
  page: PageRequest,
  orderBy: TargetOrder = byName,
  asOf: Revision | null = null,
): Promise<Page<Target>> {
  const order = targetOrder('CLUSTER', orderBy)
  const pages = await pageOf<Target, TargetRecord>(session, {
    parents: [0],
    order,
    page,
    select: (stretch) =>
      sql`select ${targets}.* ${fromClusters(session, filter, asOf, within(order, stretch))} ${sorted(order, stretch)}`,
    toNode: toTarget,
  })
  return pages.get(0) ?? emptyPage
}

export async function countClusters(
  session: Session,
  filter: ClusterFilter,
  asOf: Revision | null = null,
): Promise<number> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n ${fromClusters(session, filter, asOf, [])}`,
  )
  return row?.n ?? 0
}

export function fromClusters(
  reader: Session,
  filter: ClusterFilter,
  asOf: Revision | null,
  bounds: readonly SQL[],
): SQL {
  const matches = [...visibleTarget(reader, targets), ...conditionsIn(conditions, filter), ...bounds]
  return sql`from ${targetsAt(asOf)} where ${targets.kind} in ('CLUSTER', 'CLOUD_REGION') and ${all(matches)}`
}
