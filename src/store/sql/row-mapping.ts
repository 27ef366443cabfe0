/**
 * Rows have the names of columns (`target_key`), objects those of fields (`targetKey`). The tables know both. So the functions between
 * the two are generated, once each: a loop over the columns takes several times as long, because V8 compiles no fixed shape for its objects.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Columns, columnsOf, type Field, iso, isTime } from './record-set.ts'

/** A row as a Session returns it, of all columns or of those of some fields. */
export type RowOf<T extends PgTable, F extends Field<T> = Field<T>> = {
  readonly [Name in F as Columns<T>[Name]['_']['name']]: T['$inferSelect'][Name]
}

export type ObjectOf<T extends PgTable, F extends Field<T> = Field<T>> = Readonly<Pick<T['$inferSelect'], F>>

/** All fields of a table but some. */
export function fieldsBut<T extends PgTable, Left extends Field<T> = never>(
  table: T,
  ...left: readonly Left[]
): readonly Exclude<Field<T>, Left>[] {
  return columnsOf(table, (field) => !left.some((one) => one === field)).map(([field]) => field) as never
}

/** Those fields of a row as an object. */
export function rowMapper<T extends PgTable, F extends Field<T>>(
  table: T,
  fields: readonly F[],
): (row: RowOf<T, F>) => ObjectOf<T, F> {
  return generate(columnsOf(table, isOneOf(fields)).map(([field, { name }]) => [field, `row.${name}`]))
}

/** Those fields of an object as JSON by columns, with times in ISO 8601: `before` in the log. */
export function recordOfFields<T extends PgTable, Row extends object>(
  table: T,
  fields: readonly Field<T>[],
): (row: Row) => object {
  return generate(
    columnsOf(table, isOneOf(fields)).map(([field, column]) => [
      column.name,
      isTime(column) ? `row.${field} === null ? null : iso(row.${field})` : `row.${field}`,
    ]),
  )
}

/** `row.a, row.b`: a select list. */
export function columnList<T extends PgTable>(table: T, fields: readonly Field<T>[]): (row: string) => SQL {
  const columns = columnsOf(table, isOneOf(fields))
  return (row) => sql.raw(columns.map(([, { name }]) => `${row}.${name}`).join(', '))
}

function isOneOf(fields: readonly string[]): (field: string) => boolean {
  return (field) => fields.includes(field)
}

/** The names come from the tables alone, never from a request. */
function generate<From, To>(members: readonly (readonly [name: string, value: string])[]): (row: From) => To {
  const body = members.map(([name, value]) => `${name}: ${value}`).join(', ')
  const make = new Function('iso', `return (row) => ({ ${body} })`) as (toIso: typeof iso) => (row: From) => To
  return make(iso)
}
