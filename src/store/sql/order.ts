/** Pages and total orders of lists. */
import type { SQLWrapper } from 'drizzle-orm'

/** One page of a connection: 1 to 100 rows (the caller checks), from the start or the end of the rows between `after` and `before`. */
export interface PageRequest {
  readonly size: number
  readonly after: string | null
  readonly before: string | null
  readonly backward: boolean
}

export interface Edge<T> {
  readonly cursor: string
  readonly node: T
}

export interface Page<T> {
  readonly edges: readonly Edge<T>[]
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
}

export const emptyPage = { edges: [], hasNextPage: false, hasPreviousPage: false } as const

export interface SortKey<T> {
  readonly by: SQLWrapper
  readonly type: 'bigint' | 'text' | 'deployment_state' | 'connectivity' | 'readiness'
  readonly descending: boolean
  readonly of: (node: T) => string | number
}

/** A total order. Its cursors contain its name, so that a cursor of another list is refused. */
export interface Order<T> {
  readonly name: string
  readonly keys: readonly SortKey<T>[]
}

/** What a list is ordered by, and in which direction. */
export interface OrderBy<Field> {
  readonly field: Field
  readonly descending: boolean
}

/** A key of an order in either direction. */
export type Undirected<T> = Omit<SortKey<T>, 'descending'>

/** An order of all keys in one direction. `usual`: the order whose name is that of the list alone. */
export function orderOfKeys<T, Field extends string>(
  list: string,
  { field, descending }: OrderBy<Field>,
  usual: OrderBy<Field>,
  keys: readonly Undirected<T>[],
): Order<T> {
  const isUsual = field === usual.field && descending === usual.descending
  return {
    name: isUsual ? list : `${list}_${field}_${descending ? 'DESC' : 'ASC'}`,
    keys: keys.map((key) => ({ ...key, descending })),
  }
}

/** A row's place: the values of an order's keys. */
export type Place = readonly (string | number)[]

/** Where rows are relative to a place, in the order. */
export type Side = 'after' | 'before' | 'upTo' | 'from'
