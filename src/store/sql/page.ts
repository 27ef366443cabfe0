/**
 * Relay's pages by keyset: without OFFSET, in one statement for all parents. A cursor is the row's place in the order.
 *
 *   from unnest(parents) as parent left join lateral (the rows of that parent, after … before …, limit size + 1)
 *
 * hasNextPage and hasPreviousPage are exact. The extra row answers in the direction of travel. A probe beyond the given cursor answers in
 * the other direction.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../database.ts'
import { readCursor, writeCursor } from './cursor.ts'
import type { Edge, Order, Page, PageRequest, Place, Side, SortKey } from './order.ts'
import { asKeptParents, asParents, keptLimit } from './parameters.ts'

/** A range of a connection's rows, in one direction. */
export interface Stretch {
  readonly bounds: readonly { readonly side: Side; readonly place: Place }[]
  readonly reversed: boolean
  readonly limit: SQL
}

/** The rows of one parent within a stretch, in its direction. The SQL may use parent.key. */
export type Select = (stretch: Stretch) => SQL

interface PageRecord {
  readonly page_parent: number
  readonly page_behind: boolean
  readonly page_ahead: boolean
  /** Null: the parent has no rows in the page. */
  readonly key: number | null
}

export async function pageOf<T, Row extends object>(
  session: Session,
  query: {
    readonly parents: readonly number[]
    readonly order: Order<T>
    readonly page: PageRequest
    readonly select: Select
    /** Columns of `page_row`, the row that `select` returns. `key` must be one. Absent: all. */
    readonly columns?: SQL
    /** The list has no filter, so one plan is good for all its pages. */
    readonly isWhole?: boolean
    readonly toNode: (row: Row) => T
  },
): Promise<Map<number, Page<T>>> {
  const { parents, order, page, select, columns = sql`page_row.*`, isWhole = false, toNode } = query
  const limit = (rows: number): SQL => (isWhole ? keptLimit(rows) : sql`${rows}`)
  const { after, before, bounds } = boundsOf(order, page)
  const behind = after && select({ bounds: [{ side: 'upTo', place: after }], reversed: true, limit: limit(1) })
  const ahead = before && select({ bounds: [{ side: 'from', place: before }], reversed: false, limit: limit(1) })
  const rows = await session.rows<PageRecord & Row>(
    sql`select parent.key as page_parent, ${exists(behind)} as page_behind, ${exists(ahead)} as page_ahead, ${columns}
      from ${isWhole ? asKeptParents(parents) : asParents(parents)}
      left join lateral (${select({ bounds, reversed: page.backward, limit: limit(page.size + 1) })}) as page_row on true`,
  )
  const byParent = Map.groupBy(rows, (row) => row.page_parent)
  return new Map(
    parents.map((parent) => {
      const found = byParent.get(parent) ?? []
      const nodes = found.filter((row) => row.key !== null).map(toNode)
      const beyond = { behind: found[0]?.page_behind ?? false, ahead: found[0]?.page_ahead ?? false }
      return [parent, toPage(nodes, page, beyond, (node) => writeCursor(order, node))]
    }),
  )
}

/** The part of a stretch that ends with a row. */
export function endedAt(stretch: Stretch, place: Place): Stretch {
  const { reversed, bounds } = stretch
  const isTowardsEnd = ({ side }: Stretch['bounds'][number]): boolean => side === 'after' || side === 'from'
  const begins = bounds.filter((bound) => isTowardsEnd(bound) !== reversed)
  return { ...stretch, bounds: [...begins, { side: reversed ? 'from' : 'upTo', place }] }
}

export function placeOf<T>({ keys }: Order<T>, row: T): Place {
  return keys.map(({ of }) => of(row))
}

/** The rows of a page that `select` is asked for, with the extra one. */
export function stretchOf<T>(order: Order<T>, page: PageRequest): Stretch {
  return { bounds: boundsOf(order, page).bounds, reversed: page.backward, limit: sql`${page.size + 1}` }
}

function boundsOf<T>(order: Order<T>, page: PageRequest) {
  const after = page.after === null ? null : readCursor(order, page.after, 'after')
  const before = page.before === null ? null : readCursor(order, page.before, 'before')
  const bounds: Stretch['bounds'] = [
    ...(after ? [{ side: 'after', place: after } as const] : []),
    ...(before ? [{ side: 'before', place: before } as const] : []),
  ]
  return { after, before, bounds }
}

/** `nodes`: in the direction of travel, with one row more than the page if more rows follow. */
export function toPage<T>(
  nodes: readonly T[],
  page: PageRequest,
  beyond: { readonly behind: boolean; readonly ahead: boolean },
  cursorOf: (node: T) => string,
): Page<T> {
  const hasMore = nodes.length > page.size
  const kept = nodes.slice(0, page.size)
  if (page.backward) kept.reverse()
  return {
    edges: kept.map((node) => edgeOf(node, cursorOf)),
    hasNextPage: beyond.ahead || (hasMore && !page.backward),
    hasPreviousPage: beyond.behind || (hasMore && page.backward),
  }
}

/** Computes the cursor when it is selected: usually only the last one of a page is. */
class LazyEdge<T> implements Edge<T> {
  readonly node: T
  readonly #cursorOf: (node: T) => string

  constructor(node: T, cursorOf: (node: T) => string) {
    this.node = node
    this.#cursorOf = cursorOf
  }

  get cursor(): string {
    return this.#cursorOf(this.node)
  }
}

export function edgeOf<T>(node: T, cursorOf: (node: T) => string): Edge<T> {
  return new LazyEdge(node, cursorOf)
}

/** `where` conditions of a stretch's bounds. */
export function within<T>(order: Order<T>, stretch: Stretch): SQL[] {
  return stretch.bounds.map(({ side, place }) => compare(order.keys, side, place))
}

/** `order by … limit …` of a stretch. */
export function sorted<T>(order: Order<T>, { reversed, limit }: Stretch): SQL {
  return sql`${inOrder(order, reversed)} limit ${limit}`
}

export function inOrder<T>(order: Order<T>, reversed: boolean): SQL {
  const keys = order.keys.map(({ by, descending }) => (descending !== reversed ? sql`${by} desc` : sql`${by} asc`))
  return sql`order by ${sql.join(keys, sql`, `)}`
}

const operators = {
  after: [sql` > `, sql` < `],
  before: [sql` < `, sql` > `],
  upTo: [sql` <= `, sql` >= `],
  from: [sql` >= `, sql` <= `],
} as const
const strictly = { after: 'after', before: 'before', upTo: 'before', from: 'after' } as const

/** The comparison for a side, for a key of that direction. */
function operatorOf(side: Side, descending: boolean): SQL {
  return operators[side][descending ? 1 : 0]
}

function compare<T>(keys: readonly SortKey<T>[], side: Side, place: Place): SQL {
  const [first, ...others] = keys
  if (!first) throw new Error('an order has at least one key')
  const values = keys.map((key, index) => sql`${place[index]}::${sql.raw(key.type)}`)
  const operator = operatorOf(side, first.descending)
  // An index on these columns can use a row comparison, which has only one direction.
  if (others.every(({ descending }) => descending === first.descending)) {
    const columns = keys.map(({ by }) => sql`${by}`)
    return sql`(${sql.join(columns, sql`, `)})${operator}(${sql.join(values, sql`, `)})`
  }
  const strict = operatorOf(strictly[side], first.descending)
  return sql`(${first.by}${strict}${values[0]} or (${first.by} = ${values[0]} and ${compare(others, side, place.slice(1))}))`
}

/** A scalar subquery: EXISTS would drop the order, and with it the index that finds the nearest row. */
function exists(select: SQL | null): SQL {
  return select ? sql`coalesce((select true from (${select}) as probe), false)` : sql`false`
}
