/** A list that applies its updates. */
import type { Update } from './watch.ts'

type Entry = { readonly position: number; readonly from?: number | null }

/** What `subscription { deployments }` and the other live lists send. */
export interface ListUpdate<Row extends Entry = Entry> {
  readonly isSnapshot: boolean
  /** IDs of rows, or their places before the update. */
  readonly removed: readonly (string | number)[]
  readonly rows: readonly Row[]
}

/** The row in an entry: its deployment, device, resource or group. */
type RowIn<Listed> = Listed extends { readonly rows: readonly (infer Row)[] } ? Extract<Row[keyof Row], object> : never

/** The rows of a live list by the type of its answer. */
export type RowOf<Data> = RowIn<Data[keyof Data]>

/** Rows that the update does not name keep their order. */
export function applyUpdate<Row>(list: readonly Row[], { isSnapshot, removed, rows }: ListUpdate): readonly Row[] {
  const moved = new Set<unknown>([...removed, ...rows.flatMap((entry) => [idOf(rowOf(entry)), entry.from])])
  const next = isSnapshot ? [] : list.filter((row, place) => !moved.has(idOf(row)) && !moved.has(place))
  for (const entry of rows) next.splice(entry.position, 0, rowOf(entry) as Row)
  return next
}

const rowOf = (entry: Entry): unknown =>
  Object.values(entry).find((value) => typeof value === 'object' && value !== null)

/** A group has none: it has its place. A row that has none either is no row of these lists. */
const idOf = (row: unknown): unknown => (row as { readonly id?: unknown } | undefined)?.id ?? row

export async function* live<Data>(
  updates: AsyncIterable<Update<Data>>,
): AsyncGenerator<readonly RowOf<Data>[], void, undefined> {
  let list: readonly RowOf<Data>[] = []
  for await (const { data } of updates) {
    list = applyUpdate(list, Object.values(data as object)[0] as ListUpdate)
    yield list
  }
}
