/** The reads of groups of deployments of one snapshot (reader.ts). */
import type { Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import type { GroupedBy, Grouping, GroupName } from '../../../../store/read/groups/grouping.ts'
import { countGroups, type DeploymentGroup, type GroupOrder, pageGroups } from '../../../../store/read/groups/groups.ts'
import { newestOfGroups, spansOfGroups } from '../../../../store/read/groups/members.ts'
import { nestedGroups } from '../../../../store/read/groups/nested-groups.ts'
import { groupingsOf } from '../../../../store/read/groups/paths.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched } from './batching.ts'
import { type Parent, perParent } from './parents.ts'

type GroupKey = Pick<DeploymentGroup, 'parent' | 'within' | 'name' | 'span'>

/** What a loader knows a group by. */
function keyOf({ parent, within = [], name, span }: GroupKey): GroupKey {
  return { parent, within, name, span }
}

export function groupLoaders(s: Snapshot) {
  const newestOfGroup = batched(
    (groups: readonly GroupKey[], of: Parent['of'], filter: DeploymentFilter, size: number, asOf: Revision | null) =>
      newestOfGroups(s, groups, { of, filter, asOf }, size),
    (_, index) => index,
  )
  const nested = batched(
    (
      groups: readonly GroupKey[],
      of: Parent['of'],
      _groupings: readonly GroupedBy[],
      by: GroupedBy,
      filter: DeploymentFilter,
      order: GroupOrder,
      size: number,
      asOf: Revision | null,
    ) => nestedGroups(s, groups, { of, filter, asOf }, by, order, size),
    (_, index) => index,
  )
  const spanOfGroup = batched(
    (names: readonly GroupName[], _by: Grouping, filter: DeploymentFilter, asOf: Revision | null) =>
      spansOfGroups(s, names, filter, asOf),
    (_, index) => index,
  )

  return {
    groups: perParent(
      (scope, by: GroupedBy, filter: DeploymentFilter, order: GroupOrder, page: PageRequest, asOf: Revision | null) =>
        pageGroups(s, { scope, by, filter, asOf }, order, page),
    ),
    groupCount: perParent((scope, by: GroupedBy, filter: DeploymentFilter, asOf: Revision | null) =>
      countGroups(s, { scope, by, filter, asOf }),
    ),
    /** When the deployments of a group of the fleet last changed. */
    spanOfGroup: (name: GroupName, filter: DeploymentFilter, asOf: Revision | null) =>
      spanOfGroup(name, name.by, filter, asOf),
    /** The deployments of a group that changed last. */
    newestOfGroup: (group: GroupKey, of: Parent['of'], filter: DeploymentFilter, size: number, asOf: Revision | null) =>
      newestOfGroup(keyOf(group), of, filter, size, asOf),
    /** The first groups within a group. */
    nestedGroups: (
      group: GroupKey,
      of: Parent['of'],
      by: GroupedBy,
      filter: DeploymentFilter,
      order: GroupOrder,
      size: number,
      asOf: Revision | null,
    ) => nested(keyOf(group), of, groupingsOf(group), by, filter, order, size, asOf),
  }
}
