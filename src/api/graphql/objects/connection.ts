/** Relay connections. Parts that are not selected are not read. */
import { DomainError } from '../../../domain/errors.ts'
import { oldestRetained } from '../../../domain/values.ts'
import { emptyPage, type Page, type PageRequest } from '../../../store/sql/order.ts'
import { edgeOf } from '../../../store/sql/page.ts'
import { builder, type SchemaTypes } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { selectedFields } from '../execution/selection.ts'
import { defaultPageSize, maxPageSize } from '../guards/page-size.ts'

export interface Connection<T> {
  page(): Promise<Page<T>>
  count(): Promise<number>
}

export interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | number | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | number | null | undefined
}

const forward = 'Number of rows from the start of the list: 0 to 100. Default: 20, if `last` is absent.'
const backward = 'Number of rows from the end of the list: 0 to 100. Cannot be combined with `first`.'

export const pageArgs = () =>
  builder.args((t) => ({
    first: t.int({ description: forward }),
    after: t.string({ description: 'Return only rows after this cursor.' }),
    last: t.int({ description: backward }),
    before: t.string({ description: 'Return only rows before this cursor.' }),
  }))

/** For lists of changes: their cursors are revisions. */
export const revisionPageArgs = () =>
  builder.args((t) => ({
    first: t.int({ description: forward }),
    after: t.field({ type: 'Revision', description: 'Return only changes after this revision.' }),
    last: t.int({ description: backward }),
    before: t.field({ type: 'Revision', description: 'Return only changes before this revision.' }),
  }))

/** Validates the arguments immediately. `load` runs only if part of the page is selected. */
export function connect<T>(
  args: PageArguments,
  load: (page: PageRequest) => Promise<Page<T> | undefined>,
  count: () => Promise<number | undefined>,
): Connection<T> {
  const { first = null, after = null, last = null, before = null } = args
  if (first !== null && last !== null) throw refusal('give either first or last, not both')
  const backward = last !== null
  const size = (backward ? last : first) ?? defaultPageSize
  if (size < 0 || size > maxPageSize)
    throw refusal(`${backward ? 'last' : 'first'} must be from 0 to ${maxPageSize}, but is ${size}`)
  const request = {
    size: Math.max(size, 1),
    after: after === oldestRetained ? null : text(after),
    // Below every revision.
    before: before === oldestRetained ? '0' : text(before),
    backward,
  }
  return {
    page: async () => {
      const page = (await load(request)) ?? emptyPage
      return size === 0 ? withoutEdges(page, backward) : page
    },
    count: async () => (await count()) ?? 0,
  }
}

/** The rows of the page, for fields that are lists. */
export async function rowsOf<T>(list: Connection<T>): Promise<readonly T[]> {
  return (await list.page()).edges.map(({ node }) => node)
}

/** For `first: 0`: one row was read to learn whether rows follow. */
function withoutEdges<T>(page: Page<T>, backward: boolean): Page<T> {
  const isThere = page.edges.length > 0
  return {
    edges: [],
    hasNextPage: backward ? page.hasNextPage : isThere,
    hasPreviousPage: backward ? isThere : page.hasPreviousPage,
  }
}

export function mapPage<T, U>(page: Page<T> | undefined, map: (node: T) => U): Page<U> | undefined {
  return page && { ...page, edges: page.edges.map((edge) => edgeOf(map(edge.node), () => edge.cursor)) }
}

const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  access: 'viewer',
  description: 'The position of a page in its list.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there are rows after this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether there are rows before this page.' }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first row. Null if the page is empty.',
      resolve: (page) => page.edges[0]?.cursor ?? null,
    }),
    endCursor: t.string({
      nullable: true,
      description: 'The cursor of the last row. Null if the page is empty.',
      resolve: (page) => page.edges.at(-1)?.cursor ?? null,
    }),
  }),
})

const described = {
  edges: 'The rows of the page, each with its cursor.',
  nodes: 'The rows of the page, without cursors.',
  pageInfo: 'The position of the page in the list.',
  totalCount: 'Number of rows on all pages. It is counted only if selected.',
} as const

type NodeRef<T> = PothosSchemaTypes.ObjectRef<SchemaTypes, T> | PothosSchemaTypes.InterfaceRef<SchemaTypes, T>

/** Reads the selected fields of all rows at once. If it fails, the fields report the error themselves. */
export type Gather<T> = (rows: readonly T[], selected: ReadonlySet<string>, context: Context) => Promise<unknown>

/** Defines `<Name>Connection` and `<Name>Edge`. `node` is a function because the type may be defined later. */
export function implementConnection<T>(name: string, node: () => NodeRef<T>, of: string, gather?: Gather<T>) {
  const gathered = async (edges: Page<T>['edges'], context: Context, selected: () => ReadonlySet<string>) => {
    const rows = edges.map((edge) => edge.node)
    await gather?.(rows, selected(), context).catch(() => undefined)
    return rows
  }
  const edge = builder.objectRef<Page<T>['edges'][number]>(`${name}Edge`).implement({
    access: 'viewer',
    description: `A row in a page of ${of}.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: 'An opaque cursor for `after` and `before`.' }),
      // Pothos cannot infer that T is not a list.
      node: t.field({ type: node(), description: 'The row.', resolve: (row) => row.node as never }),
    }),
  })
  return builder.objectRef<Connection<T>>(`${name}Connection`).implement({
    access: 'viewer',
    description: `A page of ${of}.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        description: described.edges,
        resolve: async (list, _, context, info) => {
          const { edges } = await list.page()
          await gathered(edges, context, () => selectedFields(info, ['node']))
          return edges
        },
      }),
      nodes: t.field({
        type: [node()],
        description: described.nodes,
        resolve: async (list, _, context, info) =>
          gathered((await list.page()).edges, context, () => selectedFields(info)),
      }),
      pageInfo: t.field({ type: PageInfo, description: described.pageInfo, resolve: (list) => list.page() }),
      totalCount: t.int({ description: described.totalCount, resolve: (list) => list.count() }),
    }),
  })
}

function text(cursor: string | number | null): string | null {
  return cursor === null ? null : String(cursor)
}

function refusal(message: string): DomainError {
  return new DomainError('BAD_USER_INPUT', message)
}
