/** The deployments of groups that were read: the newest of each, and when they changed. */
import { sql } from 'drizzle-orm'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { asParents, isAnyOf } from '../../sql/parameters.ts'
import { type ShownRecord, shownColumns, toShown } from '../../sql/rows.ts'
import { deployments } from '../../tables/schema.ts'
import { parentsOf } from '../deployment-scope.ts'
import type { DeploymentRow } from '../deployments.ts'
import { type DeploymentFilter, d, stands } from '../filters/deployment-filter.ts'
import { alikeRows, foundRows } from './group-rows.ts'
import { type GroupName, nameColumn, placeOf } from './grouping.ts'
import type { DeploymentGroup, GroupSpan } from './groups.ts'
import {
  type GroupedDeployments,
  type GroupPlace,
  groupingsOf,
  narrowed,
  pathColumn,
  pathOf,
  questionAbout,
} from './paths.ts'

type Group = GroupPlace & Pick<DeploymentGroup, 'span'>

/** Of each group its deployments that changed last, at most `size`. */
export async function newestOfGroups(
  session: Session,
  groups: readonly Group[],
  grouped: GroupedDeployments,
  size: number,
): Promise<Map<number, readonly DeploymentRow[]>> {
  const { filter, asOf } = grouped
  const [first] = groups
  if (!first) return new Map()
  const found = size === 1 && asOf === null ? await findByRevision(session, groups, filter) : null
  if (found) return found
  // Operations that share a snapshot may ask for groups of several groupings at once.
  const groupings = Map.groupBy(groups.keys(), (index) => JSON.stringify(groupingsOf(groups[index] ?? first)))
  if (groupings.size > 1) {
    const all = new Map<number, readonly DeploymentRow[]>()
    for (const indexes of groupings.values()) {
      const some = indexes.flatMap((index) => groups[index] ?? [])
      for (const [place, rows] of await newestOfGroups(session, some, grouped, size)) all.set(indexes[place] ?? 0, rows)
    }
    return all
  }
  const { scope, ...query } = questionAbout(groups, grouped)
  // The window numbers each group's rows in one pass. A lateral page for each group would read all rows once a group.
  const numbered = await session.rows<ShownRecord & { readonly group_path: string }>(
    sql`select d.group_path, ${shownColumns('d')} from (
        select ${d}.*, row_number() over (partition by ${pathColumn} order by ${d.revision} desc) as place
        from ${asParents(parentsOf(scope))} cross join lateral (select ${d}.* ${await foundRows(session, { scope, ...query })}) as ${d}
      ) as d where d.place <= ${size}::bigint order by d.group_path, d.place`,
  )
  const byPath = Map.groupBy(numbered, (row) => row.group_path)
  return new Map(
    groups.map((group, index) => [
      index,
      (byPath.get(pathOf(group)) ?? []).map(({ group_path: _, ...row }) => ({ ...toShown(row), asOf })),
    ]),
  )
}

/** The newest deployment of a group has the group's revision, which an index finds. Null: a group is from counters, and its revision is not known. */
async function findByRevision(
  session: Session,
  groups: readonly Group[],
  filter: DeploymentFilter,
): Promise<Map<number, readonly DeploymentRow[]> | null> {
  const revisions = groups.flatMap(({ span }) => span?.revision ?? [])
  if (revisions.length < groups.length) return null
  const rows = await session.rows<ShownRecord>(
    sql`select ${shownColumns('d')} from ${deployments} ${d} where ${isAnyOf(d.revision, revisions, 'bigint')} and ${stands(filter)}`,
  )
  const byRevision = new Map(rows.map((row) => [row.revision, { ...toShown(row), asOf: null }]))
  return new Map(
    revisions.map((revision, index) => {
      const newest = byRevision.get(revision)
      return [index, newest ? [newest] : []]
    }),
  )
}

interface SpanRecord {
  readonly name: string
  readonly since: Millis
  readonly changed_at: Millis
  readonly revision: Revision
}

/** The spans of groups of the fleet that came from counters, by their places in `names`. Throws BAD_USER_INPUT if too many of their deployments have changed since then. */
export async function spansOfGroups(
  session: Session,
  names: readonly GroupName[],
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<Map<number, GroupSpan>> {
  const [by] = names
  if (!by) return new Map()
  const rows = await alikeRows(session, { scope: { of: 'fleet' }, by, filter: narrowed(filter, names, true), asOf })
  const records = await session.rows<SpanRecord>(
    sql`select ${nameColumn} as name, min(${d}.since) as since, max(${d.changedAt}) as changed_at, max(${d.revision}) as revision
      ${rows} group by part.value, part.detail`,
  )
  const spans = new Map(
    records.map(({ name, since, changed_at: changedAt, revision }) => [name, { since, changedAt, revision }]),
  )
  return new Map(
    names.flatMap((name, index) => {
      const span = spans.get(placeOf(name))
      return span ? [[index, span]] : []
    }),
  )
}
