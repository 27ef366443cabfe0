/** What a caller asks for as parameters of a statement, and the conditions that many tables share. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type { Label } from '../../domain/target.ts'
import { isStorable, storableJson } from '../../domain/text.ts'
import type { Millis } from '../../domain/values.ts'

type ListType =
  | 'bigint'
  | 'text'
  | 'deployment_state'
  | 'readiness'
  | 'connectivity'
  | 'rollout_kind'
  | 'lifecycle_state'
  | 'instance_status'
  | 'sync_status'
  | 'presence'
  | 'convergence'

export const nothing: SQL = sql`false`

const dialect = new PgDialect()

/** The same, its text made once: of what is part of many statements and has no parameters. drizzle looks at each part of a text each time. */
export function fixed(query: SQL): SQL {
  const { sql: text, params } = dialect.sqlToQuery(query)
  if (params.length > 0) throw new Error(`this is not fixed: ${text}`)
  return sql.raw(text)
}

/** A whole list as one parameter: an array literal. */
export function listParameter(list: readonly (string | number)[], type: ListType): SQL {
  const elements = list.filter(canMatch).map((item) => `"${String(item).replaceAll(/["\\]/g, String.raw`\$&`)}"`)
  return sql`${`{${elements.join(',')}}`}::${sql.raw(type)}[]`
}

/** A row `parent` with its `key` for each. */
export function asParents(keys: readonly number[]): SQL {
  return sql`unnest(${listParameter(keys, 'bigint')}) as parent(key)`
}

/** The same; a single one is told as such, because the planner takes any list for ten and would not keep its plan. */
export function asKeptParents(keys: readonly number[]): SQL {
  const [only] = keys
  return keys.length === 1 ? sql`(select ${only}::bigint as key) as parent` : asParents(keys)
}

/** What is usually asked for, and one more, which tells whether there is more. */
const usualLimits: ReadonlySet<number> = new Set([1, 2, 6, 11, 21, 26, 51, 101])

/**
 * A limit that is part of the text, when it is a usual one: the planner keeps a plan only if it knows the limit, and plans anew each time
 * otherwise, which takes as long as a page. For lists whose plan does not depend on what is asked for: it is then made blindly.
 */
export function keptLimit(rows: number): SQL {
  return usualLimits.has(rows) ? sql.raw(String(rows)) : sql`${rows}`
}

/** One element compares with `=`, so that an index also gives the order within it. */
export function isAnyOf(value: SQLWrapper, list: readonly (string | number)[], type: ListType): SQL {
  const [only] = list
  if (only === undefined || !list.some(canMatch)) return nothing
  if (list.length === 1) return sql`${value} = ${only}::${sql.raw(type)}`
  return sql`${value} = any(${listParameter(list, type)})`
}

/** In any case, and without wildcards. */
export function containsText(values: readonly SQLWrapper[], text: string): SQL {
  if (!isStorable(text)) return nothing
  return either(values.map((value) => sql`strpos(lower(${value}), lower(${text}::text)) > 0`))
}

/** Rows of `labels` that have one of these. */
export function hasAnyLabel(labels: SQLWrapper, wanted: readonly Label[]): SQL {
  const storable = wanted.filter(({ key, value }) => isStorable(key) && isStorable(value))
  return either(storable.map(({ key, value }) => sql`${labels} @> ${storableJson([{ key, value }])}::text::jsonb`))
}

export function all(conditions: readonly SQL[]): SQL {
  return conditions.length === 0 ? sql`true` : sql.join([...conditions], sql` and `)
}

export function either(conditions: readonly SQL[]): SQL {
  return conditions.length === 0 ? nothing : sql`(${sql.join([...conditions], sql` or `)})`
}

const firstDay = Date.parse('0001-01-01T00:00:00Z')
const lastDay = Date.parse('9999-12-31T00:00:00Z')

/** Within what PostgreSQL and ISO 8601 both write with four digits of the year. */
export function timeParameter(time: Millis): SQL {
  const within = Math.min(Math.max(time, firstDay), lastDay)
  return sql`${new Date(within).toISOString()}::timestamptz`
}

/** Nothing stored equals what cannot be stored. */
function canMatch(item: string | number): boolean {
  return typeof item === 'number' || isStorable(item)
}
