/** Pages and total orders: what a list asks for, and what a cursor points into. */
import type { SQLWrapper } from 'drizzle-orm'

/** One page of a connection: 1..100 rows (its caller checks), from the front or from the back of what `after` and `before` leave. */
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
  readonly type: 'bigint' | 'text' | 'deployment_state'
  readonly descending: boolean
  readonly of: (node: T) => string | number
}

/** A total order. Its name is in the cursors, so that one of another list is refused. */
export interface Order<T> {
  readonly name: string
  readonly keys: readonly SortKey<T>[]
}

/** A row's place: the values of an order's keys. */
export type Place = readonly (string | number)[]

/** Where rows lie with respect to a place, in terms of the order. */
export type Side = 'after' | 'before' | 'upTo' | 'from'
