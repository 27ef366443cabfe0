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

/** A row's place: the values of an order's keys. */
export type Place = readonly (string | number)[]

/** Where rows are relative to a place, in the order. */
export type Side = 'after' | 'before' | 'upTo' | 'from'
