/**
 * Rows have the names of columns (`target_key`), objects have the names of fields (`targetKey`). The tables define both, so functions
 * that convert one to the other are generated, once each. A loop over the columns takes several times as long: V8 gives objects that a
 * loop fills no fixed shape.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type Columns, columnsOf, type Field, iso, isTime } from './record-set.ts'

/** A row as a Session returns it: with all columns, or with the columns of some fields. */
export type RowOf<T extends PgTable, F extends Field<T> = Field<T>> = {
  readonly [Name in F as Columns<T>[Name]['_']['name']]: T['$inferSelect'][Name]
}

export type ObjectOf<T extends PgTable, F extends Field<T> = Field<T>> = Readonly<Pick<T['$inferSelect'], F>>

/** The fields of a table, except some. */
export function fieldsBut<T extends PgTable, Left extends Field<T> = never>(
  table: T,
  ...left: readonly Left[]
): readonly Exclude<Field<T>, Left>[] {
  return columnsOf(table, (field) => !left.some((one) => one === field)).map(([field]) => field) as never
}

/** Converts a row to an object with those fields. */
export function rowMapper<T extends PgTable, F extends Field<T>>(
  table: T,
  fields: readonly F[],
): (row: RowOf<T, F>) => ObjectOf<T, F> {
  return generate(columnsOf(table, isOneOf(fields)).map(([field, { name }]) => [field, `row.${name}`]))
}

/** Converts an object to a JSON object with the names of columns and times in ISO 8601: `before` in the log. */
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
  const text = columnText(table, fields)
  return (row) => sql.raw(text(row))
}

/** The same as text. */
export function columnText<T extends PgTable>(table: T, fields: readonly Field<T>[]): (row: string) => string {
  const columns = columnsOf(table, isOneOf(fields))
  return (row) => columns.map(([, { name }]) => `${row}.${name}`).join(', ')
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
