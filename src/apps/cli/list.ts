/** Lists of the API, page by page, as a table or as lines of JSON. */
import { ApiError } from '../client/client.ts'
import type { Api } from './api.ts'
import { jsonLine } from './show.ts'
import { type Terminal, table } from './terminal.ts'

export interface Output {
  readonly terminal: Terminal
  readonly isJson: boolean
}

interface Connection<Node> {
  readonly nodes: readonly Node[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

export interface List<Node> {
  /** The field of the query that has the list. */
  readonly of: 'alerts' | 'clusters' | 'deployments' | 'devices' | 'maintenanceWindows' | 'resources' | 'rollouts'
  /** The type of its filter, and the filter. Null: it has none. */
  readonly filter: readonly [type: string, value: object] | null
  /** More arguments of the field. */
  readonly arguments?: string
  /** The selected fields of a node. */
  readonly fields: string
  readonly head: readonly string[]
  /** What the table says instead if there are no rows. Absent: it has its head only. */
  readonly empty?: string
  row(node: Node): readonly string[]
}

/** The largest page that the API allows. */
const pageSize = 100

/** Writes at most `limit` nodes. */
export async function printList<Node>(
  api: Api,
  { terminal, isJson }: Output,
  list: List<Node>,
  limit: number,
): Promise<void> {
  const rows: (readonly string[])[] = [list.head]
  for await (const node of readNodes(api, list, limit)) {
    if (isJson) terminal.write(jsonLine(node))
    else rows.push(list.row(node))
  }
  if (isJson) return
  const isEmpty = rows.length === 1
  terminal.write(`${isEmpty && list.empty ? list.empty : table(rows).join('\n')}\n`)
}

export async function* readNodes<Node>(
  api: Api,
  { of, filter, arguments: more = '', fields }: List<Node>,
  limit: number,
): AsyncGenerator<Node> {
  const [declared, given] = filter ? [`$filter: ${filter[0]}, `, 'filter: $filter, '] : ['', '']
  const document = `query List(${declared}$first: Int!, $after: String) {
    ${of}(${given}${more} first: $first, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } }
  }`
  let left = limit
  for (let after: string | null = null, isMore = true; isMore && left > 0; ) {
    const variables = { first: Math.min(left, pageSize), after, ...(filter && { filter: filter[1] }) }
    const answer: Readonly<Record<typeof of, Connection<Node>>> = await api.ask(document, variables)
    const { nodes, pageInfo } = answer[of]
    yield* nodes
    left -= nodes.length
    isMore = pageInfo.hasNextPage
    // The same page again, for ever.
    if (isMore && (pageInfo.endCursor ?? after) === after)
      throw new ApiError('NO_END', `the server says that there are more ${of}, and not where`)
    after = pageInfo.endCursor
  }
}
