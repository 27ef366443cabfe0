/**
 * Set-based writes: one statement per table, for any number of rows. Each parameter is one column of all rows. That costs both sides a
 * third of one JSON text of the rows: it has no names, and nothing is parsed twice.
 *
 * Many columns of a batch have one value: no error, no resource, the same time. PostgreSQL would parse it once a row. So such a column is
 * sent short, and unnest() fills it with nulls: a column of nulls is empty, and so is a column of zeros that are added. A column that is
 * never null has its one value once. The first column is always sent in full.
 */
import { getTableColumns, getTableName } from 'drizzle-orm'
import { type PgColumn, type PgTable, PgTimestampString } from 'drizzle-orm/pg-core'
import { storableJson } from '../../domain/text.ts'
import { atOnce, type Paced } from '../../platform/limits/pace.ts'

export type Columns<T extends PgTable> = T['_']['columns']
export type Field<T extends PgTable> = keyof Columns<T> & string

export interface Write<Row> {
  readonly text: string
  /** The same as part of a larger statement: its parameters begin at `first`, and it runs once per row of `when`. */
  textFrom(first: number, when: string): string
  /** Number of parameters. */
  readonly width: number
  parameters(rows: readonly Row[], beside?: Beside): readonly string[]
  /** The same, and may pause after each column. */
  pacedParameters(rows: readonly Row[], beside?: Beside): Paced<readonly string[]>
}

/** Columns of values that are not part of the rows. */
type Beside = Readonly<Record<string, readonly unknown[]>>

/** The value of a column that a query finds. It gets the SQL of the value in the row. A row for which it finds nothing is not inserted. */
interface Found<T extends PgTable> {
  readonly field: Field<T>
  readonly query: (value: string) => string
}

/** `insert into …` the rows. */
export function insertOf<T extends PgTable, Row extends object>(
  table: T,
  options: { readonly except?: readonly Field<T>[]; readonly found?: Found<T>; readonly more?: string } = {},
): Write<Row> {
  const { found } = options
  const columns = columnsOf(table, (field) => !options.except?.includes(field))
  const names = columns.map(([, { name }]) => name).join(', ')
  return writeOf(columns, (rows, valueIn) => {
    const sought = columns.find(([field]) => field === found?.field)
    const values = columns.map((column) => (column === sought ? 'found.value' : valueIn(column))).join(', ')
    const join = found && sought ? `cross join lateral (${found.query(valueIn(sought))}) as found(value)` : ''
    return `insert into ${getTableName(table)} (${names}) select ${values} from ${rows} ${join} ${options.more ?? ''}`
  })
}

/**
 * `update …`: sets columns of the rows with the same keys. The columns in `add` are added to their present values. Those in `first` keep
 * their value once they have one, and those in `last` keep it where the row has none.
 */
export function updateOf<T extends PgTable, Row extends object>(
  table: T,
  options: {
    readonly set: (field: Field<T>) => boolean
    readonly add?: readonly Field<T>[]
    readonly first?: readonly Field<T>[]
    readonly last?: readonly Field<T>[]
  },
): Write<Row> {
  const key = columnsOf(table, (field) => field === 'key')
  const listed = (fields: readonly Field<T>[] = []) => columnsOf(table, (field) => fields.includes(field))
  const [added, first, last] = [listed(options.add), listed(options.first), listed(options.last)]
  const set = columnsOf(table, (field) => field !== 'key' && !options.add?.includes(field) && options.set(field))
  return writeOf(
    [...key, ...set, ...first, ...last, ...added],
    (rows, valueIn) => {
      const assignments = [
        ...set.map((column) => `${column[1].name} = ${valueIn(column)}`),
        ...first.map(([, { name }]) => `${name} = coalesce(t.${name}, x.${name})`),
        ...last.map(([, { name }]) => `${name} = coalesce(x.${name}, t.${name})`),
        ...added.map(([, { name }]) => `${name} = t.${name} + coalesce(x.${name}, 0)`),
      ]
      return `update ${getTableName(table)} as t set ${assignments.join(', ')} from ${rows} where t.key = x.key`
    },
    added,
    [...first, ...last],
  )
}

export function iso(time: number): string {
  // Most times in a batch are equal.
  if (time !== latest.time) latest = { time, text: new Date(time).toISOString() }
  return latest.text
}

let latest = { time: 0, text: '1970-01-01T00:00:00.000Z' }

type NamedColumn<F extends string = string> = readonly [field: F, column: PgColumn]

export function columnsOf<T extends PgTable>(table: T, wanted: (field: Field<T>) => boolean): NamedColumn<Field<T>>[] {
  const columns = Object.entries(getTableColumns(table)) as unknown as NamedColumn<Field<T>>[]
  return columns.filter(([field]) => wanted(field))
}

export function isTime(column: PgColumn): boolean {
  return column instanceof PgTimestampString
}

/** SQL of a column's value in a row. */
type ValueIn = (column: NamedColumn) => string

function writeOf<Row extends object>(
  columns: readonly NamedColumn[],
  textOf: (rows: string, valueIn: ValueIn) => string,
  added: readonly NamedColumn[] = [],
  optional: readonly NamedColumn[] = [],
): Write<Row> {
  const names = columns.map(([, { name }]) => name).join(', ')
  const shapes = columns.map((column, index) => {
    if (index === 0) return 'full'
    if (added.includes(column)) return 'zeros'
    return column[1].notNull && !isJson(column[1]) && !optional.includes(column) ? 'one' : 'nulls'
  })
  const readers = columns.map(([field]) => readerOf<Row>(field))
  const textFrom = (first: number, when: string): string => {
    const lists = columns.map(([, column], index) => listOf(column, first + index))
    return textOf(`${when}unnest(${lists.join(', ')}) as x(${names})`, ([field, column]) => {
      const index = columns.findIndex(([one]) => one === field)
      const value = `x.${column.name}`
      if (isJson(column)) return `${value}::${column.getSQLType()}`
      return shapes[index] === 'one' ? `coalesce(${value}, (${lists[index]})[1])` : value
    })
  }
  function* pacedParameters(rows: readonly Row[], beside: Beside = {}): Paced<readonly string[]> {
    const parameters: string[] = []
    for (const [index, [field, column]] of columns.entries()) {
      const values = beside[field] ?? rows.map(readers[index] ?? readerOf(field))
      parameters.push(listText(column, shortened(values, shapes[index])))
      yield
    }
    return parameters
  }
  return {
    text: textFrom(1, ''),
    textFrom: (first, when) => textFrom(first, `${when}, `),
    width: columns.length,
    parameters: (rows, beside) => atOnce(pacedParameters(rows, beside)),
    pacedParameters,
  }
}

/** A function of its own for each column, as in row-mapping.ts: V8 finds a field by a name that varies in several times as long. */
function readerOf<Row>(field: string): (row: Row) => unknown {
  return new Function('row', `return row.${field}`) as (row: Row) => unknown
}

/** How a column with equal values is sent. `zeros` and `nulls`: without values. `one`: the value once, of a column in which no value is null. */
type Shape = 'full' | 'zeros' | 'nulls' | 'one'

function shortened(values: readonly unknown[], shape: Shape | undefined): readonly unknown[] {
  const [first = null] = values
  if (shape === 'full' || (shape === 'zeros' && first !== 0) || (shape === 'nulls' && first !== null)) return values
  // A time is the same number, and a text the same text.
  const isSame = first === null ? isNone : (value: unknown): boolean => value === first
  if (!values.every(isSame)) return values
  return shape === 'one' ? values.slice(0, 1) : []
}

function isNone(value: unknown): boolean {
  return value === null || value === undefined
}

function listText(column: PgColumn, values: readonly unknown[]): string {
  if (isJson(column)) return values.map(encodeJson).join(between)
  return `{${values.map(isTime(column) ? encodeTime : encode).join()}}`
}

/**
 * JSON text contains no control characters. So they can separate JSON texts without quoting and escaping. A null has a character of its
 * own, so that all columns have the same number of values.
 */
const [between, nothing] = ['\x1f', '\x02']

function listOf(column: PgColumn, number: number): string {
  return isJson(column) ? `string_to_array($${number}, e'\\x1f', e'\\x02')` : `$${number}::${column.getSQLType()}[]`
}

function isJson(column: PgColumn): boolean {
  return column.dataType === 'json'
}

function encodeJson(value: unknown): string {
  return value === null || value === undefined ? nothing : storableJson(value)
}

function encodeTime(value: unknown): string {
  return encode(typeof value === 'number' ? iso(value) : value)
}

function encode(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value !== 'string') return String(value)
  return `"${/["\\]/.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`
}
