/**
 * Groups within groups. The path of a group has the names of the groups that it is in, the outermost first, and its own. One pass over the deployments
 * finds those of many groups: it makes the path of each deployment and looks it up among those of the groups. A condition for each group was
 * rejected, because it reads all deployments once a group.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type Convergence, convergences } from '../../../domain/desired.ts'
import type { Revision } from '../../../domain/values.ts'
import { listParameter } from '../../sql/parameters.ts'
import type { Scope } from '../deployment-scope.ts'
import { type DeploymentCondition, type DeploymentFilter, d } from '../filters/deployment-filter.ts'
import { type GroupedBy, type GroupName, partsOf } from './grouping.ts'

/** A group that was read. */
export interface GroupPlace {
  /** The rollout, target or instance whose deployments are grouped; 0: the fleet. */
  readonly parent: number
  /** The groups that it is in, the outermost first. Absent: none. */
  readonly within?: readonly GroupName[]
  readonly name: GroupName
}

/** The groups of which deployments are read, all of the same groupings. */
export interface Paths {
  readonly groupings: readonly GroupedBy[]
  readonly texts: readonly string[]
}

/** What groups were made of. */
export interface GroupedDeployments {
  /** The kind of their parents. */
  readonly of: Scope['of']
  readonly filter: DeploymentFilter
  /** Null: the present. */
  readonly asOf: Revision | null
}

/** What is asked of the deployments of groups, which are of the same groupings. */
export function questionAbout(
  groups: readonly (GroupPlace & { readonly span: object | null })[],
  { of, filter, asOf }: GroupedDeployments,
) {
  const [first] = groups
  const scope: Scope = of === 'fleet' ? { of } : { of, keys: [...new Set(groups.map(({ parent }) => parent))] }
  const outermost = groups.flatMap((group) => namesOf(group)[0] ?? [])
  const within: Paths = { groupings: first ? groupingsOf(first) : [], texts: groups.map(pathOf) }
  // Of a group that another one is in, it is not known whether that one came from counters.
  const mayBeCounted = groups.some(({ span, within }) => span === null || within?.length)
  return { scope, filter: narrowed(filter, outermost, mayBeCounted), asOf, within }
}

/** By what its deployments and those of the groups that it is in are grouped. */
export function groupingsOf(group: GroupPlace): readonly GroupedBy[] {
  return namesOf(group).map(({ by, labelKey }) => ({ by, labelKey }))
}

function namesOf({ within = [], name }: GroupPlace): readonly GroupName[] {
  return [...within, name]
}

/** The text of a path. Lengths separate the names, whatever characters they have. */
export function pathOf(group: GroupPlace): string {
  const part = (value: string | null): string => (value === null ? '-' : `+${Buffer.byteLength(value)}:${value}`)
  const names = namesOf(group).map(({ value, detail }) => part(value) + part(detail))
  return `${group.parent}${names.join('')}`
}

/** The same of a row `part`. */
const partText = sql.raw(
  ['part.value', 'part.detail']
    .map((column) => `coalesce('+' || octet_length(${column}) || ':' || ${column}, '-')`)
    .join(' || '),
)

/** The column of the rows of `rowsOfPaths` that has the path of their group. */
export const pathColumn = sql`${d}.group_path`

/** `from …` of the rows `d` of parent.key that are in one of the groups. `rows`: `from … where …` of all of them. A row is there once for each of its groups. */
export function rowsOfPaths(rows: SQL, { groupings, texts }: Paths): SQL {
  const level = (index: number): SQL => sql.raw(`level${index}`)
  // Each `offset 0` keeps the planner from writing what an error or a path is computed by wherever it is used.
  const levels = groupings.map(
    (by, index) => sql`cross join lateral (
      select ${partText} as path from (select part.value, part.detail from ${partsOf(by)} offset 0) as part offset 0) as ${level(index)}`,
  )
  const path = sql`parent.key || ${sql.join(
    groupings.map((_, index) => sql`${level(index)}.path`),
    sql` || `,
  )}`
  // The last one keeps it from grouping the rows first that are in none of the groups.
  return sql`from (select ${d}.*, ${path} as group_path from (select ${d}.* ${rows}) as ${d} ${sql.join(levels, sql` `)}
    where ${path} = any(${listParameter([...new Set(texts)], 'text')}) offset 0) as ${d}`
}

/**
 * The filter, for the deployments of groups of one grouping. Groups by rollout are found by an index. So are groups that came from counters: their
 * deployments have not been read. To narrow others would only cost a condition on each row.
 */
export function narrowed(
  filter: DeploymentFilter,
  names: readonly GroupName[],
  mayBeCounted: boolean,
): DeploymentFilter {
  const [first] = names
  const values = names.flatMap(({ value }) => value ?? [])
  if (first?.by === 'ROLLOUT') {
    const keys = new Set(values.map(Number))
    return { ...filter, rolloutKeys: [...keys].filter((key) => filter.rolloutKeys?.includes(key) ?? true) }
  }
  const implied = first && mayBeCounted && values.length === names.length ? impliedBy(first.by, values) : null
  return implied ? { ...filter, where: filter.where ? { and: [filter.where, implied] } : implied } : filter
}

function impliedBy(by: GroupedBy['by'], values: readonly string[]): DeploymentCondition | null {
  switch (by) {
    case 'APPLICATION':
      return { applications: [...new Set(values)] }
    case 'CONVERGENCE':
      return { convergence: convergences.filter((one: Convergence) => values.includes(one)) }
    case 'ERROR':
      return { hasError: true }
    default:
      return null
  }
}
