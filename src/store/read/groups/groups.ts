/** Deployments in groups: one statement reads each deployment that the filter selects once, however many groups there are, unless there are counters. */
import { sql } from 'drizzle-orm'
import { type Convergence, convergences } from '../../../domain/desired.ts'
import { type DeploymentState, deploymentStates, type Millis, type Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import type { Order, OrderBy, Page, PageRequest, SortKey, Undirected } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { asParents } from '../../sql/parameters.ts'
import type { ConvergenceCounts, StateCounts } from '../counts/deployment-counts.ts'
import { nameOf } from '../counts/stored-counts.ts'
import { parentsOf } from '../deployment-scope.ts'
import { type SourceLimits, sourceLimits } from '../filters/source.ts'
import { selectCountedGroups } from './counted-groups.ts'
import { alikeRows, type GroupQuery } from './group-rows.ts'
import { type GroupedBy, placeOf } from './grouping.ts'
import type { GroupPlace } from './paths.ts'
import { alikeParts, selectSums } from './sums.ts'

const groupOrderFields = ['SIZE', 'FAILED', 'CHANGED', 'VALUE'] as const
export type GroupOrderField = (typeof groupOrderFields)[number]

export type GroupOrder = OrderBy<GroupOrderField>

/** When the deployments of a group last changed: the earliest and the latest of these times, and the latest revision. */
export interface GroupSpan {
  readonly since: Millis
  readonly changedAt: Millis
  readonly revision: Revision
}

export interface DeploymentGroup extends GroupPlace {
  readonly size: number
  readonly counts: StateCounts
  readonly convergence: ConvergenceCounts
  /** Names of up to ten components that have the error; empty for the other groupings. */
  readonly components: readonly string[]
  /** Null: the group is from counters (counted-groups.ts), see spansOfGroups. */
  readonly span: GroupSpan | null
  /** The number of groups in the list that the group is from. */
  readonly groupCount: number
}

export type GroupRecord = StateCounts & {
  readonly [Name in `convergence_${Lowercase<Convergence>}`]: number
} & {
  readonly key: number
  readonly value: string | null
  readonly detail: string | null
  /** A total order of names: null sorts before everything else. */
  readonly name: string
  readonly size: number
  readonly components: readonly string[] | null
  readonly since: Millis | null
  readonly changed_at: Millis | null
  readonly revision: Revision | null
  readonly group_count: number
}

type Placed = Pick<DeploymentGroup, 'size' | 'span' | 'name' | 'counts'>

const name: SortKey<Placed> = { by: sql`g.name`, type: 'text', descending: false, of: ({ name }) => placeOf(name) }
const fields: Readonly<Record<Exclude<GroupOrderField, 'VALUE'>, Undirected<Placed>>> = {
  SIZE: { by: sql`g.size`, type: 'bigint', of: ({ size }) => size },
  FAILED: { by: sql`g.failed`, type: 'bigint', of: ({ counts }) => counts.failed },
  CHANGED: { by: sql`g.revision`, type: 'bigint', of: ({ span }) => span?.revision ?? 0 },
}

export function orderOf({ field, descending }: GroupOrder): Order<Placed> {
  if (field === 'VALUE') return { name: `GROUP_VALUE${descending ? '_DESC' : ''}`, keys: [{ ...name, descending }] }
  return { name: `GROUP_${field}_${descending ? 'DESC' : 'ASC'}`, keys: [{ ...fields[field], descending }, name] }
}

export async function pageGroups(
  session: Session,
  query: GroupQuery,
  orderBy: GroupOrder,
  page: PageRequest,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, Page<DeploymentGroup>>> {
  const counted = orderBy.field === 'CHANGED' ? null : await selectCountedGroups(session, query)
  const groups = counted ?? selectSums(query, alikeParts(await alikeRows(session, query, limits)))
  const order = orderOf(orderBy)
  const pages = await pageOf<Omit<DeploymentGroup, 'parent'>, GroupRecord>(session, {
    parents: parentsOf(query.scope),
    order,
    page,
    select: (stretch) => {
      const conditions = within(order, stretch)
      const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``
      return sql`select g.* from (select every.*, (count(*) over ())::int as group_count from (${groups}) as every) as g
        ${where} ${sorted(order, stretch)}`
    },
    toNode: (record) => toGroup(record, query.by),
  })
  return new Map(
    [...pages].map(([parent, { edges, ...rest }]) => [
      parent,
      { ...rest, edges: edges.map(({ node, cursor }) => ({ cursor, node: { ...node, parent } })) },
    ]),
  )
}

export async function countGroups(session: Session, query: GroupQuery): Promise<Map<number, number>> {
  const groups =
    (await selectCountedGroups(session, query)) ??
    sql`select 1 ${await alikeRows(session, query)} group by part.value, part.detail`
  const counted = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, (select count(*)::int from (${groups}) as groups) as n from ${asParents(parentsOf(query.scope))}`,
  )
  return new Map(counted.map(({ parent, n }) => [parent, n]))
}

export function toGroup(record: GroupRecord, { by, labelKey }: GroupedBy): Omit<DeploymentGroup, 'parent'> {
  const { value, detail, size, components, since, changed_at: changedAt, revision } = record
  const counts = {} as Record<Lowercase<DeploymentState>, number>
  for (const state of deploymentStates.map(nameOf)) counts[state] = record[state]
  const convergence = {} as Record<Lowercase<Convergence>, number>
  for (const value of convergences.map(nameOf)) convergence[value] = record[`convergence_${value}`]
  return {
    name: { by, labelKey, value, detail },
    size,
    counts,
    convergence,
    components: components ?? [],
    span: since === null || changedAt === null || revision === null ? null : { since, changedAt, revision },
    groupCount: record.group_count,
  }
}
