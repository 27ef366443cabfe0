/** Relay's connections: what is not selected is not read. */
import { DomainError } from '../domain/errors.ts'
import { edgeOf, type Page, type PageRequest } from '../store/page.ts'
import { builder, type SchemaTypes } from './builder.ts'
import type { Context } from './context.ts'
import { defaultPageSize, maxPageSize } from './page-size.ts'
import { selectedFields } from './selection.ts'

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

const forward = 'How many, counted from the front: 0 to 100. Without `first` and `last`: 20 from the front.'
const backward = 'How many, counted from the back: 0 to 100. Not together with `first`.'

export const pageArgs = () =>
  builder.args((t) => ({
    first: t.int({ description: forward }),
    after: t.string({ description: 'Only what comes after this cursor.' }),
    last: t.int({ description: backward }),
    before: t.string({ description: 'Only what comes before this cursor.' }),
  }))

/** For lists of changes, whose cursors are revisions. */
export const revisionPageArgs = () =>
  builder.args((t) => ({
    first: t.int({ description: forward }),
    after: t.field({ type: 'Revision', description: 'Only changes after this revision.' }),
    last: t.int({ description: backward }),
    before: t.field({ type: 'Revision', description: 'Only changes before this revision.' }),
  }))

/** Checks at once; `load` is called when something of the page is selected. */
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
  const request = { size: Math.max(size, 1), after: text(after), before: text(before), backward }
  return {
    page: async () => {
      const page = (await load(request)) ?? { edges: [], hasNextPage: false, hasPreviousPage: false }
      return size === 0 ? withoutEdges(page, backward) : page
    },
    count: async () => (await count()) ?? 0,
  }
}

/** Whatever one row would have shown is still to come. */
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

export const PageInfo = builder.objectRef<Page<unknown>>('PageInfo').implement({
  access: 'viewer',
  description: 'Where a page lies in its list.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Something follows this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Something comes before this page.' }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first edge; null when there is none.',
      resolve: (page) => page.edges[0]?.cursor ?? null,
    }),
    endCursor: t.string({
      nullable: true,
      description: 'The cursor of the last edge; null when there is none.',
      resolve: (page) => page.edges.at(-1)?.cursor ?? null,
    }),
  }),
})

const described = {
  edges: 'The rows, each with its cursor.',
  nodes: 'The rows alone.',
  pageInfo: 'Where the page lies in the list.',
  totalCount: 'How many there are without paging; counted only when asked for.',
} as const

type NodeRef<T> = PothosSchemaTypes.ObjectRef<SchemaTypes, T> | PothosSchemaTypes.InterfaceRef<SchemaTypes, T>

/** Reads what is selected of rows, for all of them at once. What cannot be read is told by the fields themselves. */
export type Gather<T> = (rows: readonly T[], selected: ReadonlySet<string>, context: Context) => Promise<unknown>

/** `<Name>Connection` and `<Name>Edge`, which differ by their node's type only; it may be defined later. */
export function implementConnection<T>(name: string, node: () => NodeRef<T>, of: string, gather?: Gather<T>) {
  const gathered = async (edges: Page<T>['edges'], context: Context, selected: () => ReadonlySet<string>) => {
    const rows = edges.map((edge) => edge.node)
    await gather?.(rows, selected(), context).catch(() => undefined)
    return rows
  }
  const edge = builder.objectRef<Page<T>['edges'][number]>(`${name}Edge`).implement({
    access: 'viewer',
    description: `One of ${of}, and its place in the list.`,
    fields: (t) => ({
      cursor: t.exposeString('cursor', { description: 'Opaque: its place in the list, for `after` and `before`.' }),
      // Pothos cannot see that a T is no list.
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
          gathered(await edgesOf(list, context), context, () => selectedFields(info)),
      }),
      pageInfo: t.field({ type: PageInfo, description: described.pageInfo, resolve: (list) => list.page() }),
      totalCount: t.int({ description: described.totalCount, resolve: (list) => list.count() }),
    }),
  })
}

async function edgesOf<T>(list: Connection<T>, context: Pick<Context, 'spend'>): Promise<Page<T>['edges']> {
  const { edges } = await list.page()
  context.spend(edges.length)
  return edges
}

function text(cursor: string | number | null): string | null {
  return cursor === null ? null : String(cursor)
}

function refusal(message: string): DomainError {
  return new DomainError('BAD_USER_INPUT', message)
}
