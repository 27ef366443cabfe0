/** Ranges of deployments that an index finds: how to read them, and how to count them up to a limit. */
import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { type ListType, listParameter } from '../../sql/parameters.ts'
import { deploymentNames, deployments } from '../../tables/schema.ts'
import { type DeploymentCondition, d } from './deployment-filter.ts'

export interface Range {
  /** `from … where …` of rows `d`, at most as many as its argument says. */
  rows(most: number): SQL
  /** `from … where …` of rows `place` with the keys of deployments, some of which may not be listed. Absent: the range has its rows only. */
  keys?(most: number): SQL
  /** A select of the keys of the targets whose deployments they are. */
  readonly targets?: SQL
  /** Conditions that all its rows match. Absent: the condition that it is of is only nearly as narrow, or costs nothing. */
  readonly served?: readonly Served[]
}

export interface Served {
  readonly field: keyof DeploymentCondition
  readonly value: unknown
  /** The rows that may not match it all the same. Absent: none. */
  readonly exceptWhere?: SQL
}

/** Their union. */
export type Ranges = readonly Range[]

const isListed = sql`${d.forgottenAt} is null`

/** The order of an index makes the planner use it, also where it expects to find some rows soon without. */
export const byRevision = sql`order by ${d.revision}`

export function rowsWhere(condition: SQL, inOrder: SQL = sql``): Range {
  return {
    rows: (most) =>
      sql`from (select ${d}.* from ${deployments} ${d} where ${isListed} and ${condition} ${inOrder} limit ${most}) as ${d}`,
  }
}

/**
 * The rows with that value in a column that an index has before the revision. The row comparisons force the planner to use this index, as in
 * walks/state-walk.ts.
 */
export function rowsWithValue(column: PgColumn, value: string, condition: SQL = sql`true`): Range {
  const of = sql`${value}::${sql.raw(column.getSQLType())}`
  const place = sql`(${column}, ${d.revision})`
  return rowsWhere(
    sql`${condition} and ${place} > (${of}, 0) and ${place} < (${of}, ${Number.MAX_SAFE_INTEGER}::bigint)`,
    sql`order by ${column}, ${d.revision}`,
  )
}

/** The rows of a range that match a condition. The rows of the range are counted: otherwise a count reads on where few of them match. */
export function rowsAmong(range: Range, condition: SQL): Range {
  return {
    rows: (most) => sql`from (select ${d}.* ${range.rows(most)}) as ${d} where ${condition}`,
    keys: (most) => sql`from (select ${d.key} ${range.rows(most)}) as place`,
  }
}

export function keyList(values: readonly (string | number)[], type: ListType): SQL {
  return sql`select unnest(${listParameter([...new Set(values)], type)}) as key`
}

/**
 * The deployments of each `place.key`, by lookups: a planner without statistics would read all deployments. The limit counts listed ones only:
 * if it counted forgotten ones, a count could miss deployments that exist.
 */
export function rowsOfKeys(keys: SQL, condition: SQL, inOrder: SQL = sql``): Range {
  return {
    rows: (most) => sql`from (${keys} offset 0) as place cross join lateral (
      select ${d}.* from ${deployments} ${d} where ${isListed} and ${condition} ${inOrder} limit ${most}) as ${d}`,
  }
}

/**
 * The deployments of each `place.key`, of which the condition names those in deployment_names. Whether they are listed is compared with each alone:
 * beside the condition, a planner without statistics would also read the whole of a partial index, for each key. To count them, their names are enough.
 */
export function rowsNamed(keys: SQL, condition: SQL): Required<Pick<Range, 'rows' | 'keys'>> {
  const named = sql`select ${deploymentNames.deploymentKey} as key from ${deploymentNames} where ${condition}`
  return {
    keys: (most) =>
      sql`from (select named.key from (${keys} offset 0) as place cross join lateral (${named} limit ${most}) as named limit ${most}) as place`,
    rows: (most) => sql`from (${keys} offset 0) as place cross join lateral (
      select ${d}.* from (${named} offset 0) as named cross join lateral (select ${d}.* from ${deployments} ${d} where ${d.key} = named.key and ${isListed} offset 0) as ${d} limit ${most}) as ${d}`,
  }
}

export function rowsOnTargets(targets: SQL): Range {
  const { keys } = rowsNamed(targets, sql`${deploymentNames.targetKey} = place.key`)
  return { ...rowsOfKeys(targets, sql`${d.targetKey} = place.key`), keys, targets }
}

/** The condition that `d` is on one of at most `most` targets. The planner makes a hash of them, because of the limit. */
export function isOnAnyOf(targets: SQL, most: number): SQL {
  return sql`(${d.targetKey} in (select place.key from (${targets} limit ${most}) as place)) is true`
}

/**
 * The deployments of the keys of an index beside them. The keys are counted, because to look each deployment up would cost as much as to read the
 * page.
 */
export function rowsOfIndexKeys(keys: SQL): Range {
  const found = (most: number): SQL => sql`(${keys} limit ${most}) as place`
  return {
    rows: (most) => sql`from (select * from ${found(most)} offset 0) as place cross join lateral (
      select ${d}.* from ${deployments} ${d} where ${d.key} = place.key and ${isListed} offset 0) as ${d}`,
    keys: (most) => sql`from ${found(most)}`,
  }
}

export function countUpTo(ranges: Ranges, most: number): SQL {
  if (ranges.length === 0) return sql`0`
  const parts = ranges.map((range) => sql`(select 1 ${(range.keys ?? range.rows)(most)} limit ${most})`)
  return sql`(select count(*)::int from (${sql.join(parts, sql` union all `)}) as entry)`
}

/** Rows in two ranges appear once. In the order of their keys, lookups find neighbours in the same pages: a quarter less of 50,000 rows' time. */
export function rowsIn(ranges: Ranges, most: number): SQL {
  const [only] = ranges
  if (!only) return sql`select ${d}.* from ${deployments} ${d} where false`
  if (ranges.length === 1) return sql`select ${d}.* ${only.rows(most)}`
  const keys = ranges.map((range) =>
    range.keys ? sql`select place.key ${range.keys(most)}` : sql`select ${d.key} ${range.rows(most)}`,
  )
  return sql`select ${d}.* from (${sql.join(keys, sql` union `)} order by key offset 0) as found cross join lateral (
    select ${d}.* from ${deployments} ${d} where ${d.key} = found.key and ${isListed} offset 0) as ${d}`
}
