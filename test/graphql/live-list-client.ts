/** A subscriber of a live list, as docs/clients.md has it. */
export interface ListedRow {
  readonly id: string
  readonly deploymentId: string
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

export const listSubscription = `subscription ($filter: DeploymentFilter, $orderBy: DeploymentOrder, $first: Int, $after: Revision) {
  deployments(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
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
