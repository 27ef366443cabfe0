/** Statements of a batch that are made one at a time, with pauses: those of a command of ten thousand items take long to print. */
import type { Paced } from '../../../platform/limits/pace.ts'
import type { Write } from '../../sql/record-set.ts'
import type { Statement } from '../contract.ts'

/** A statement whose text is made later. */
export type Put = Paced<Statement>

/** Nothing without rows. */
export function* putRows<Row extends object>(write: Write<Row>, rows: readonly Row[]): Iterable<Put> {
  if (rows.length > 0) yield rowsPut(write, rows)
}

/** New rows, then changed ones. */
export function* putEach<Row extends object>(
  insert: Write<Row>,
  update: Write<Row>,
  touched: Iterable<{ readonly row: Row; readonly isNew: boolean }>,
): Iterable<Put> {
  const all = [...touched]
  yield* putRows(
    insert,
    all.filter(({ isNew }) => isNew).map(({ row }) => row),
  )
  yield* putRows(
    update,
    all.filter(({ isNew }) => !isNew).map(({ row }) => row),
  )
}

function* rowsPut<Row extends object>(write: Write<Row>, rows: readonly Row[]): Put {
  return { text: write.text, parameters: yield* write.pacedParameters(rows) }
}

// biome-ignore lint/correctness/useYield: it is made already.
export function* putText(statement: Statement): Put {
  return statement
}
