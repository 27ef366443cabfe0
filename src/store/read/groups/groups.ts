/**
 * Deployments in groups: one statement reads each deployment that the filter selects once, however many groups there are.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type Convergence, convergences } from '../../../domain/desired.ts'
import { type DeploymentState, deploymentStates, type Millis, type Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import type { Order, Page, PageRequest, SortKey } from '../../sql/order.ts'
import { pageOf, sorted, within } from '../../sql/page.ts'
import { asParents } from '../../sql/parameters.ts'
import { type ShownRecord, shownColumns, toShown } from '../../sql/rows.ts'
import { type ConvergenceCounts, rowsOf, type StateCounts } from '../counts/deployment-counts.ts'
import { type DeploymentFilter, d } from '../deployment-filter.ts'
import { parentsOf, type Scope } from '../deployment-scope.ts'
import type { DeploymentRow } from '../deployments.ts'
import { type SourceLimits, sourceLimits, sourceOfGroups } from '../filters/deployment-source.ts'
import { narrowWhole } from '../filters/past-candidates.ts'
import { selectAlike } from './alike.ts'
import { type GroupedBy, type GroupName, partsOf } from './grouping.ts'

export const groupOrderFields = ['SIZE', 'FAILED', 'CHANGED', 'VALUE'] as const
export type GroupOrderField = (typeof groupOrderFields)[number]

export interface GroupOrder {
  readonly field: GroupOrderField
  readonly descending: boolean
}

export interface DeploymentGroup {
  /** The rollout, target or instance whose deployments are grouped; 0: the fleet. */
  readonly parent: number
  readonly name: GroupName
  readonly size: number
  readonly counts: StateCounts
  readonly convergence: ConvergenceCounts
  /** Names of up to ten components that have the error; empty for the other groupings. */
  readonly components: readonly string[]
  /** When the deployments last changed: the earliest and the latest. */
  readonly since: Millis
  readonly changedAt: Millis
  readonly revision: Revision
}

type GroupRecord = StateCounts & {
  readonly [Name in `convergence_${Lowercase<Convergence>}`]: number
} & {
  readonly key: number
  readonly value: string | null
  readonly detail: string | null
  /** A total order of names: null sorts before everything else. */
  readonly name: string
  readonly size: number
  readonly components: readonly string[] | null
  readonly since: Millis
  readonly changed_at: Millis
  readonly revision: Revision
}

type Placed = Pick<DeploymentGroup, 'size' | 'revision' | 'name' | 'counts'>

const name: SortKey<Placed> = { by: sql`g.name`, type: 'text', descending: false, of: ({ name }) => placeOf(name) }
const fields: Readonly<Record<Exclude<GroupOrderField, 'VALUE'>, Omit<SortKey<Placed>, 'descending'>>> = {
  SIZE: { by: sql`g.size`, type: 'bigint', of: ({ size }) => size },
  FAILED: { by: sql`g.failed`, type: 'bigint', of: ({ counts }) => counts.failed },
  CHANGED: { by: sql`g.revision`, type: 'bigint', of: ({ revision }) => revision },
}

function orderOf({ field, descending }: GroupOrder): Order<Placed> {
  if (field === 'VALUE') return { name: `GROUP_VALUE${descending ? '_DESC' : ''}`, keys: [{ ...name, descending }] }
  return { name: `GROUP_${field}_${descending ? 'DESC' : 'ASC'}`, keys: [{ ...fields[field], descending }, name] }
}

/** As `nameColumn`, of a group that was read. */
function placeOf({ value, detail }: GroupName): string {
  return [value, detail].map((part) => (part === null ? '0' : `1${part}`)).join('\n')
}
const countedBy = (column: string, value: string, name: string): SQL =>
  sql.raw(`coalesce(sum(part.n) filter (where ${column} = '${value}'), 0)::int as ${name}`)
const counted = sql.join(
  [
    ...deploymentStates.map((state) => countedBy('part.state', state, state.toLowerCase())),
    ...convergences.map((value) => countedBy('part.convergence', value, `convergence_${value.toLowerCase()}`)),
  ],
  sql`, `,
)
const nameColumn = sql.raw(`coalesce('1' || part.value, '0') || chr(10) || coalesce('1' || part.detail, '0')`)

export async function pageGroups(
  session: Session,
  scope: Scope,
  by: GroupedBy,
  filter: DeploymentFilter,
  orderBy: GroupOrder,
  page: PageRequest,
  asOf: Revision | null,
  limits: SourceLimits = sourceLimits,
): Promise<Map<number, Page<DeploymentGroup>>> {
  const rows = await alikeRows(session, scope, by, filter, asOf, limits)
  // Rows that are counted alike are counted first, by a hash. In one step, each row would pass a dozen aggregates, and the distinct components would
  // need all rows sorted by text.
  const alike = sql`select part.*, ${d.convergence}, sum(${d}.n)::int as n,
      min(${d}.since) as since, max(${d.changedAt}) as changed_at, max(${d.revision}) as revision
    ${rows} group by part.value, part.detail, part.state, part.component, ${d.convergence}`
  const components =
    by.by === 'ERROR'
      ? sql`to_json((array_agg(distinct part.component) filter (where part.component is not null))[1:10])`
      : sql`null::json`
  // `key` says that there is a row: groups have no key of their own.
  const groups = sql`select 0::bigint as key, part.value, part.detail, ${nameColumn} as name, sum(part.n)::int as size,
      ${components} as components, min(part.since) as since, max(part.changed_at) as changed_at, max(part.revision) as revision, ${counted}
    from (${alike}) as part group by part.value, part.detail`
  const order = orderOf(orderBy)
  const pages = await pageOf<Omit<DeploymentGroup, 'parent'>, GroupRecord>(session, {
    parents: parentsOf(scope),
    order,
    page,
    select: (stretch) => {
      const conditions = within(order, stretch)
      const where = conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``
      return sql`select g.* from (${groups}) as g ${where} ${sorted(order, stretch)}`
    },
    toNode: (record) => toGroup(record, by),
  })
  return new Map(
    [...pages].map(([parent, { edges, ...rest }]) => [
      parent,
      { ...rest, edges: edges.map(({ node, cursor }) => ({ cursor, node: { ...node, parent } })) },
    ]),
  )
}

export async function countGroups(
  session: Session,
  scope: Scope,
  by: GroupedBy,
  filter: DeploymentFilter,
  asOf: Revision | null,
): Promise<Map<number, number>> {
  const rows = await alikeRows(session, scope, by, filter, asOf)
  const counted = await session.rows<{ parent: number; n: number }>(
    sql`select parent.key as parent, (select count(*)::int from (select 1 ${rows} group by part.value, part.detail) as groups) as n
      from ${asParents(parentsOf(scope))}`,
  )
  return new Map(counted.map(({ parent, n }) => [parent, n]))
}

/** Of each group its deployments that changed last, at most `size`. */
export async function newestOfGroups(
  session: Session,
  groups: readonly Pick<DeploymentGroup, 'parent' | 'name'>[],
  of: Scope['of'],
  filter: DeploymentFilter,
  size: number,
  asOf: Revision | null,
): Promise<Map<number, readonly DeploymentRow[]>> {
  const [first] = groups
  if (!first) return new Map()
  // Operations that share a snapshot may ask for groups of several groupings at once.
  const groupings = Map.groupBy(groups.keys(), (index) => {
    const { by, labelKey } = groups[index]?.name ?? first.name
    return JSON.stringify([by, labelKey])
  })
  if (groupings.size > 1) {
    const found = new Map<number, readonly DeploymentRow[]>()
    for (const indexes of groupings.values()) {
      const some = indexes.flatMap((index) => groups[index] ?? [])
      for (const [place, rows] of await newestOfGroups(session, some, of, filter, size, asOf))
        found.set(indexes[place] ?? 0, rows)
    }
    return found
  }
  const keys = groups.map(({ parent }) => parent)
  const scope: Scope = of === 'fleet' ? { of } : { of, keys }
  const rows = await partedRows(session, scope, first.name, filter, asOf)
  const wanted = JSON.stringify(groups.map(({ parent, name }, index) => ({ index, parent, name: placeOf(name) })))
  // The window numbers each group's rows in one pass. A lateral page for each group would read all rows once a group.
  const found = await session.rows<ShownRecord & { readonly group_index: number }>(
    sql`with wanted as materialized (select * from json_to_recordset(${wanted}::text::json) as w (index int, parent bigint, name text))
      select d.group_index, ${shownColumns('d')} from (
        select ${d}.*, wanted.index as group_index,
          row_number() over (partition by wanted.index order by ${d.revision} desc) as place
        from ${asParents(parentsOf(scope))} cross join lateral (select ${d}.*, ${nameColumn} as group_name ${rows}) as ${d}
        join wanted on wanted.parent = parent.key and wanted.name = ${d}.group_name
      ) as d where d.place <= ${size}::bigint order by d.group_index, d.place`,
  )
  const byIndex = Map.groupBy(found, (row) => row.group_index)
  return new Map(
    groups.map((_, index) => [
      index,
      (byIndex.get(index) ?? []).map(({ group_index: _, ...row }) => ({ ...toShown(row), asOf })),
    ]),
  )
}

/** `from …` of the rows `d` of parent.key, each beside its rows `part`. */
async function partedRows(...[session, scope, by, filter, asOf]: Asked): Promise<SQL> {
  const rows = await foundRows(session, scope, by, filter, asOf)
  return sql`from (select ${d}.* ${rows}) as ${d} cross join lateral ${partsOf(by)}`
}

/** The same, of rows `d` that stand for deployments that the grouping cannot tell apart. */
async function alikeRows(...asked: Asked): Promise<SQL> {
  const [, , by] = asked
  return sql`from (${selectAlike(by.by, await foundRows(...asked))}) as ${d} cross join lateral ${partsOf(by)}`
}

type Asked = readonly [
  session: Session,
  scope: Scope,
  by: GroupedBy,
  filter: DeploymentFilter,
  asOf: Revision | null,
  limits?: SourceLimits,
]

async function foundRows(...[session, scope, , filter, asOf, limits = sourceLimits]: Asked): Promise<SQL> {
  const past = asOf === null ? null : await narrowWhole(session, asOf, scope, filter, limits)
  const source = await sourceOfGroups(session, scope, filter, limits)
  return rowsOf(session, scope, filter, past, source)
}

function toGroup(record: GroupRecord, { by, labelKey }: GroupedBy): Omit<DeploymentGroup, 'parent'> {
  const { value, detail, size, components, since, changed_at: changedAt, revision } = record
  const counts = {} as Record<Lowercase<DeploymentState>, number>
  for (const state of deploymentStates.map(lower)) counts[state] = record[state]
  const convergence = {} as Record<Lowercase<Convergence>, number>
  for (const value of convergences.map(lower)) convergence[value] = record[`convergence_${value}`]
  return {
    name: { by, labelKey, value, detail },
    size,
    counts,
    convergence,
    components: components ?? [],
    since,
    changedAt,
    revision,
  }
}

function lower<Value extends string>(value: Value): Lowercase<Value> {
  return value.toLowerCase() as Lowercase<Value>
}
