/** Rows of postgres.js as objects. */

/** A column each. */
export type Row = readonly unknown[]
type ToObject = (values: Row) => object

/** The columns of a prepared statement, which are described once. */
const made = new WeakMap<readonly { readonly name: string }[], ToObject>()

/**
 * Creates rows of one shape. For more than a dozen columns, postgres.js fills objects field by field. V8 makes each a hash table, which is
 * larger, and slower to create and to read.
 */
export function asObjects<T>(columns: readonly { readonly name: string }[], rows: readonly Row[]): T[] {
  if (rows.length === 0) return []
  let toObject = made.get(columns)
  if (!toObject) {
    const fields = columns.map(({ name }, index) => `${JSON.stringify(name)}: values[${index}]`)
    toObject = new Function('values', `return { ${fields.join(', ')} }`) as ToObject
    made.set(columns, toObject)
  }
  return rows.map(toObject) as T[]
}
