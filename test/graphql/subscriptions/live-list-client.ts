/** A subscriber of a live list, as docs/clients.md has it. */
export interface ListedRow {
  readonly id: string
  readonly deploymentId: string
  readonly reporter: string
  readonly state: string
  readonly revision: string
}

export interface ListUpdate {
  readonly cursor: string
  readonly isSnapshot: boolean
  readonly reset: { readonly reason: string } | null
  readonly removed: readonly string[]
  readonly rows: readonly { readonly change: string; readonly position: number; readonly deployment: ListedRow }[]
  readonly hasNextPage: boolean
}

export const listSubscription = `subscription ($filter: DeploymentFilter, $orderBy: DeploymentOrder, $ordering: DeploymentOrdering, $first: Int, $after: Revision) {
  deployments(filter: $filter, orderBy: $orderBy, ordering: $ordering, first: $first, after: $after) {
    cursor isSnapshot reset { reason } removed hasNextPage
    rows { change position deployment { id deploymentId reporter state revision components { name state } } }
  }
}`

export function applyUpdate(list: readonly ListedRow[], { isSnapshot, removed, rows }: ListUpdate): ListedRow[] {
  const gone = new Set([...removed, ...rows.map(({ deployment }) => deployment.id)])
  const next = isSnapshot ? [] : list.filter(({ id }) => !gone.has(id))
  for (const { position, deployment } of rows) next.splice(position, 0, deployment)
  return next
}

/** A live list of any kind, and the query that it equals. `fields`: of a row, without its ID. */
export function liveListOf(name: keyof typeof kindsOfLists, fields: string) {
  const { type, row, order } = kindsOfLists[name]
  const variables = `$filter: ${type}Filter, $orderBy: ${order}, $first: Int`
  const given = 'filter: $filter, orderBy: $orderBy, first: $first'
  return {
    subscription: `subscription (${variables}, $after: Revision) { list: ${name}(${given}, after: $after) {
      cursor isSnapshot reset { reason } removed hasNextPage rows { change position row: ${row} { id ${fields} } } } }`,
    query: `query (${variables}, $at: Revision) { list: ${name}(${given}, atRevision: $at) {
      nodes { ${fields} } pageInfo { hasNextPage } } }`,
  }
}

const kindsOfLists = {
  deployments: { type: 'Deployment', row: 'deployment', order: 'DeploymentOrder' },
  devices: { type: 'Device', row: 'device', order: 'TargetOrder' },
  resources: { type: 'Resource', row: 'resource', order: 'ResourceOrder' },
} as const

interface AnyRow {
  readonly id: string
}

export interface AnyUpdate extends Omit<ListUpdate, 'rows'> {
  readonly rows: readonly { readonly position: number; readonly row: AnyRow }[]
}

export function applyAny(list: readonly AnyRow[], { isSnapshot, removed, rows }: AnyUpdate): AnyRow[] {
  const gone = new Set([...removed, ...rows.map(({ row }) => row.id)])
  const next = isSnapshot ? [] : list.filter(({ id }) => !gone.has(id))
  for (const { position, row } of rows) next.splice(position, 0, row)
  return next
}

export const withoutIds = (rows: readonly AnyRow[]): object[] => rows.map(({ id: _, ...row }) => row)
