/** Set-based writes: one statement a table, its rows as one JSON text, however many there are. */
import { getTableColumns, getTableName } from 'drizzle-orm'
import { type PgColumn, type PgTable, PgTimestampString } from 'drizzle-orm/pg-core'

type Field<T extends PgTable> = keyof T['_']['columns'] & string

export interface Write<Row> {
  readonly text: string
  /** A row as the statement takes it: members named as the columns, times in ISO 8601. */
  toRecord(row: Row): object
}

/** `insert into … ` the rows of $1. */
export function insertOf<T extends PgTable, Row extends object>(
  table: T,
  options: { readonly except?: readonly Field<T>[]; readonly more?: string } = {},
): Write<Row> {
  const columns = columnsOf(table, (field) => !options.except?.includes(field))
  const names = columns.map(([, column]) => column.name).join(', ')
  const text = `insert into ${getTableName(table)} (${names}) select ${names} from ${recordset(columns)} ${options.more ?? ''}`
  return { text, toRecord: recordOf(columns) }
}

/** `update …`: rows of the same key get the given columns, and `added` ones are added to what is there. */
export function updateOf<T extends PgTable, Row extends object>(
  table: T,
  options: { readonly set: (field: Field<T>) => boolean; readonly add?: readonly Field<T>[] },
): Write<Row> {
  const key = columnsOf(table, (field) => field === 'key')
  const added = columnsOf(table, (field) => options.add?.includes(field) ?? false)
  const set = columnsOf(table, (field) => field !== 'key' && !options.add?.includes(field) && options.set(field))
  const all = [...key, ...set, ...added]
  const assignments = [
    ...set.map(([, { name }]) => `${name} = x.${name}`),
    ...added.map(([, { name }]) => `${name} = t.${name} + x.${name}`),
  ].join(', ')
  const text = `update ${getTableName(table)} as t set ${assignments} from ${recordset(all)} where t.key = x.key`
  return { text, toRecord: recordOf(all) }
}

/** Some columns of a row as JSON: what the log keeps as `before`. */
export function recordOfFields<T extends PgTable, Row extends object>(
  table: T,
  fields: readonly Field<T>[],
): (row: Row) => object {
  return recordOf(columnsOf(table, (field) => fields.includes(field)))
}

export function iso(time: number): string {
  return new Date(time).toISOString()
}

type NamedColumn = readonly [field: string, column: PgColumn]

function columnsOf<T extends PgTable>(table: T, wanted: (field: Field<T>) => boolean): NamedColumn[] {
  const columns: Record<string, PgColumn> = getTableColumns(table)
  return Object.entries(columns).filter(([field]) => wanted(field as Field<T>))
}

function recordOf<Row extends object>(columns: readonly NamedColumn[]): (row: Row) => object {
  const members = columns.map(([field, column]) => ({
    field,
    name: column.name,
    isTime: column instanceof PgTimestampString,
  }))
  return (row) => {
    const record: Record<string, unknown> = {}
    for (const { field, name, isTime } of members) {
      const value = row[field as keyof Row] as unknown
      record[name] = isTime && typeof value === 'number' ? iso(value) : value
    }
    return record
  }
}

function recordset(columns: readonly NamedColumn[]): string {
  const typed = columns.map(([, column]) => `${column.name} ${column.getSQLType()}`)
  return `json_to_recordset($1::text::json) as x(${typed.join(', ')})`
}
