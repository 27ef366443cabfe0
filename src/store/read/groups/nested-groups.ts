/** The deployments of groups, grouped again: one statement for all groups, in one pass over their deployments. */
import { sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import { writeCursor } from '../../sql/cursor.ts'
import type { Page } from '../../sql/order.ts'
import { inOrder, toPage } from '../../sql/page.ts'
import { asParents } from '../../sql/parameters.ts'
import { parentsOf } from '../deployment-scope.ts'
import { type SourceLimits, sourceLimits } from '../filters/source.ts'
import { alikeRows } from './group-rows.ts'
import type { GroupedBy } from './grouping.ts'
import { type DeploymentGroup, type GroupOrder, type GroupRecord, orderOf, toGroup } from './groups.ts'
import { type GroupedDeployments, type GroupPlace, pathOf, questionAbout } from './paths.ts'
import { alikeParts, selectSums } from './sums.ts'

type Group = GroupPlace & Pick<DeploymentGroup, 'span'>

/** The first `size` groups within each of the groups, by their places in `groups`. These are of the same groupings. */
export async function nestedGroups(
  session: Session,
  groups: readonly Group[],
  grouped: GroupedDeployments,
  by: GroupedBy,
  orderBy: GroupOrder,
  size: number,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, Page<DeploymentGroup>>> {
  if (groups.length === 0) return new Map()
  const query = { ...questionAbout(groups, grouped), by }
  const order = orderOf(orderBy)
  const sums = selectSums(query, alikeParts(await alikeRows(session, query, limits), query))
  const rows = await session.rows<GroupRecord & { readonly group_path: string }>(
    sql`select g.* from (
        select g.*, (count(*) over (partition by g.group_path))::int as group_count,
          row_number() over (partition by g.group_path ${inOrder(order, false)}) as place
        from ${asParents(parentsOf(query.scope))} cross join lateral (${sums}) as g
      ) as g where g.place <= ${size + 1}::bigint order by g.group_path, g.place`,
  )
  const byPath = Map.groupBy(rows, (row) => row.group_path)
  const page = { size, after: null, before: null, backward: false }
  const beyond = { behind: false, ahead: false }
  return new Map(
    groups.map((group, index) => {
      const within = [...(group.within ?? []), group.name]
      const nodes = (byPath.get(pathOf(group)) ?? []).map((row) => ({
        ...toGroup(row, by),
        ...{ parent: group.parent, within },
      }))
      return [index, toPage<DeploymentGroup>(nodes, page, beyond, (node) => writeCursor(order, node))]
    }),
  )
}
