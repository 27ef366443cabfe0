/** Parameters of statements, and conditions that many tables share. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { explicit, type LabelCondition } from '../../domain/selectors/label-condition.ts'
import { foldSelector, type Selector } from '../../domain/selectors/selector.ts'
import type { Label } from '../../domain/target.ts'
import { isStorable, storableJson } from '../../domain/text.ts'
import type { Millis } from '../../domain/values.ts'

export type ListType =
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

/**
 * Whether a list becomes one parameter. If each value were a condition of its own, 10,000 labels would take 0.8 s of one turn of the event loop: the
 * text of a statement is made in one.
 */
export function isLong(list: readonly unknown[]): boolean {
  return list.length > 2
}

/**
 * Whether a list is long enough for its elements to be looked up in a hash. PostgreSQL compares two lists (`&&`, `@> any`) element by element: 10,000
 * labels took minutes for 30,000 devices. It looks one value up in a list (`= any`) by a hash, if it knows the list when it plans (isKept).
 */
export function isHashed(list: readonly unknown[]): boolean {
  return list.length > 100
}

const dialect = new PgDialect()

/** The same SQL, rendered once. For parts of many statements without parameters: drizzle renders each part again for each statement. */
export function fixed(query: SQL): SQL {
  const { sql: text, params } = dialect.sqlToQuery(query)
  if (params.length > 0) throw new Error(`this is not fixed: ${text}`)
  return sql.raw(text)
}

/** A list as one parameter: an array literal. Escaped as a whole: one by one, 10,000 labels take 10 ms. */
export function listParameter(list: readonly (string | number)[], type: ListType): SQL {
  const elements = list.filter(canMatch)
  // No element has the separator.
  const text = elements.join('\0').replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\0', '","')
  return sql`${elements.length === 0 ? '{}' : `{"${text}"}`}::${sql.raw(type)}[]`
}

/** One row `parent` per key, with the column `key`. */
export function asParents(keys: readonly number[]): SQL {
  return sql`unnest(${listParameter(keys, 'bigint')}) as parent(key)`
}

/** The same. A single key becomes a single row: the planner assumes ten rows for any list, and would make a new plan each time. */
export function asKeptParents(keys: readonly number[]): SQL {
  const [only] = keys
  return keys.length === 1 ? sql`(select ${only}::bigint as key) as parent` : asParents(keys)
}

/** The usual page sizes, plus the extra row that shows whether more follow. */
const usualLimits: ReadonlySet<number> = new Set([1, 2, 6, 11, 21, 26, 51, 101])

/**
 * Writes a usual limit into the statement's text. The planner keeps a plan only if it knows the limit; otherwise it makes a new plan
 * each time, which takes as long as reading a page. For lists without a filter: the kept plan does not depend on parameters.
 */
export function keptLimit(rows: number): SQL {
  return usualLimits.has(rows) ? sql.raw(String(rows)) : sql`${rows}`
}

/** A single element is compared with `=`, so that an index also provides the order of the rows. */
export function isAnyOf(value: SQLWrapper, list: readonly (string | number)[], type: ListType): SQL {
  const [only] = list
  if (only === undefined || !list.some(canMatch)) return nothing
  if (list.length === 1) return sql`${value} = ${only}::${sql.raw(type)}`
  return sql`${value} = any(${listParameter(list, type)})`
}

/** Ignores case. Wildcards have no meaning. */
export function containsText(values: readonly SQLWrapper[], text: string): SQL {
  if (!isStorable(text)) return nothing
  return either(values.map((value) => sql`strpos(lower(${value}), lower(${text}::text)) > 0`))
}

/** Respects case. */
export function containsAny(value: SQLWrapper, parts: readonly string[]): SQL {
  if (!isLong(parts)) return either(parts.map((part) => sql`strpos(${value}, ${part}) > 0`))
  return sql`exists (select 1 from unnest(${listParameter(parts, 'text')}) as part(text) where strpos(${value}, part.text) > 0)`
}

/** Rows whose `labels` contain one of these. */
export function hasAnyLabel(labels: SQLWrapper, wanted: readonly Label[]): SQL {
  if (isHashed(wanted)) return hasElementOf(sql`jsonb_array_elements(${labels})`, labelList(wanted))
  const storable = wanted.filter(({ key, value }) => isStorable(key) && isStorable(value))
  const elements = storable.map(({ key, value }) => storableJson([{ key, value }]))
  if (isLong(elements)) return sql`${labels} @> any(${listParameter(elements, 'text')}::jsonb[])`
  return either(elements.map((element) => sql`${labels} @> ${element}::text::jsonb`))
}

/** Labels as a list of jsonb, each once. */
export function labelList(labels: readonly Label[]): SQL {
  const storable = labels.filter(({ key, value }) => isStorable(key) && isStorable(value))
  const elements = new Set(storable.map(({ key, value }) => storableJson({ key, value })))
  return sql`${listParameter([...elements], 'text')}::jsonb[]`
}

/** `elements`: of a row, as a function in `from`. */
export function hasElementOf(elements: SQL, list: SQL): SQL {
  return sql`exists (select 1 from ${elements} as own(element) where own.element = any(${list}))`
}

/** Rows with a label of that key whose value is as the condition says, by matchesLabel of domain/selectors/label-condition.ts. */
export function hasLabelWhere(labels: SQLWrapper, condition: LabelCondition): SQL {
  const { key, equals, in: wanted, notIn, exists, prefix } = explicit(condition)
  const anyOf = (values: readonly string[]): SQL =>
    hasAnyLabel(
      labels,
      values.map((value) => ({ key, value })),
    )
  const isThere = isStorable(key) ? sql`${labels} @> ${storableJson([{ key }])}::text::jsonb` : nothing
  return all([
    ...(equals === undefined ? [] : [anyOf([equals])]),
    ...(wanted === undefined ? [] : [anyOf(wanted)]),
    ...(notIn === undefined ? [] : [sql`not ${anyOf(notIn)}`]),
    ...(exists === undefined ? [] : [exists ? isThere : sql`not ${isThere}`]),
    ...(prefix === undefined ? [] : [all([isThere, isStorable(prefix) ? beginsWith(labels, key, prefix) : nothing])]),
  ])
}

function beginsWith(labels: SQLWrapper, key: string, prefix: string): SQL {
  return sql`exists (select 1 from jsonb_array_elements(${labels}) as label
    where label ->> 'key' = ${key} and starts_with(label ->> 'value', ${prefix}))`
}

export function all(conditions: readonly SQL[]): SQL {
  return conditions.length === 0 ? sql`true` : sql.join([...conditions], sql` and `)
}

export function either(conditions: readonly SQL[]): SQL {
  return conditions.length === 0 ? nothing : sql`(${sql.join([...conditions], sql` or `)})`
}

/** A selector as a condition. A part that is null, because a column is, does not hold. So `not` of it does. */
export function selectorCondition<Leaf extends object>(
  selector: Selector<Leaf>,
  ofLeaf: (leaf: Leaf) => readonly SQL[],
): SQL {
  return foldSelector<Leaf, SQL>(selector, {
    leaf: ofLeaf,
    all: (parts) => (parts.length === 1 && parts[0] ? parts[0] : sql`(${all(parts)})`),
    any: either,
    not: (part) => sql`(${part}) is not true`,
  })
}

const firstDay = Date.parse('0001-01-01T00:00:00Z')
const lastDay = Date.parse('9999-12-31T00:00:00Z')

/** Clamped to the years that PostgreSQL and ISO 8601 both write with four digits. */
export function timeParameter(time: Millis): SQL {
  const within = Math.min(Math.max(time, firstDay), lastDay)
  return sql`${new Date(within).toISOString()}::timestamptz`
}

/** No stored value equals a value that cannot be stored. */
function canMatch(item: string | number): boolean {
  return typeof item === 'number' || isStorable(item)
}
