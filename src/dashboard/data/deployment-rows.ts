/**
 * A live list of deployments, also while thousands change:
 *
 *   pages, one after the other ──▸ rows ◂── queried by id with the same filter ◂── changed ids ◂── changes(after:)
 *
 * The changes follow the first page's revision, so none is missed while later pages load. The server decides whether a changed
 * deployment still matches: the query has the list's own filter. Rows keep their positions, so that nothing moves under the
 * reader; new rows come first, and the reader decides when to sort again.
 */
import { signal } from '@preact/signals'
import { ApiError, ask, follow } from './api.ts'
import { type FragmentOf, graphql, type ResultOf, type VariablesOf } from './graphql.ts'
import { perFrame, throttle } from './use-query.ts'

export const rowFragment = graphql(`
  fragment Row on Deployment {
    id deploymentId reporter application applicationVersion state stalled attempt consistent revision changedAt
    convergence adoptedManifestVersion targetManifestVersion
    error { code message }
    components { name state readiness error { code message } }
    target { __typename id name kind connectivity ... on Device { deviceId } }
    rollout { id name kind }
  }
`)

export type Row = FragmentOf<typeof rowFragment>

const pageDocument = graphql(
  `
    query Deployments($filter: DeploymentFilter, $orderBy: DeploymentOrder, $asOf: DateTime, $first: Int!, $after: String, $isFirst: Boolean!) {
      revision
      deployments(filter: $filter, orderBy: $orderBy, asOf: $asOf, first: $first, after: $after) {
        totalCount @include(if: $isFirst)
        nodes { ...Row }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [rowFragment],
)

const touchedDocument = graphql(`
  subscription Touched($after: Revision, $filter: ChangeFilter) {
    changes(after: $after, filter: $filter) {
      cursor
      reset { reason }
      change {
        __typename
        ... on DeploymentStateChanged { deployment { id } }
        ... on ComponentStateChanged { deployment { id } }
        ... on ComponentRemoved { deployment { id } }
        ... on DeploymentMoved { deployment { id } }
        ... on DeploymentRevised { deployment { id } }
        ... on DeploymentForgotten { deployment { id } }
        ... on DeploymentStalled { deployment { id } }
        ... on ConvergenceChanged { deployment { id } }
      }
    }
  }
`)

export type DeploymentFilter = NonNullable<VariablesOf<typeof pageDocument>['filter']>
export type DeploymentOrder = NonNullable<VariablesOf<typeof pageDocument>['orderBy']>

export interface ListOf {
  readonly filter: DeploymentFilter
  readonly orderBy: DeploymentOrder
  /** Null: the present, kept up to date. */
  readonly asOf: string | null
}

export interface Rows {
  readonly list: readonly Row[]
  /** Number of matching deployments; null before the first answer. */
  readonly total: number | null
  readonly isComplete: boolean
  /** Number of rows whose position is outdated. */
  readonly moved: number
  readonly error: ApiError | null
}

/** The API's largest page. */
const pageSize = 100
const calm = 300
/** The most rows that are loaded; a longer list is for searching, not for reading. */
export const mostRows = 20_000

export function createDeploymentRows({ filter, orderBy, asOf }: ListOf) {
  const rows = signal<Rows>({ list: [], total: null, isComplete: false, moved: 0, error: null })
  const abort = new AbortController()
  let byId = new Map<string, Row>()
  let order: string[] = []
  let moved = new Set<string>()
  let touched = new Set<string>()
  let total: number | null = null
  let isComplete = false
  let leave = (): void => undefined
  let generation = 0

  const publish = perFrame<ApiError | null>((error) => {
    const list = order.flatMap((id) => byId.get(id) ?? [])
    rows.value = {
      list,
      total: isComplete ? list.length : Math.max(total ?? 0, list.length),
      isComplete,
      moved: moved.size,
      error,
    }
  })
  const flush = throttle(calm, () => void askTouched())

  async function load(): Promise<void> {
    generation += 1
    const own = generation
    const isCurrent = (): boolean => own === generation && !abort.signal.aborted
    let after: string | null = null
    const fresh = new Map<string, Row>()
    try {
      do {
        const isFirst: boolean = after === null
        const variables: VariablesOf<typeof pageDocument> = { filter, orderBy, asOf, first: pageSize, after, isFirst }
        const { revision, deployments }: PageAnswer = await ask(pageDocument, variables, abort.signal)
        if (!isCurrent()) return
        if (isFirst) {
          total = deployments.totalCount ?? null
          touched = new Set()
          moved = new Set()
          if (asOf === null) begin(revision)
        }
        for (const row of deployments.nodes) fresh.set(row.id, newer(byId.get(row.id), row))
        after = deployments.pageInfo.hasNextPage && fresh.size < mostRows ? deployments.pageInfo.endCursor : null
        // The first load shows each page as it arrives; later loads replace the whole list at once.
        if (order.length === 0 || !isComplete || after === null) {
          byId = fresh
          order = [...fresh.keys()]
          isComplete = after === null
          publish(null)
        }
      } while (after !== null)
    } catch (error) {
      if (!isCurrent()) return
      publish(error instanceof ApiError ? error : new ApiError('UNKNOWN', String(error)))
      // Changes are followed only after the first page, so a failed load is retried here.
      setTimeout(() => isCurrent() && void load(), 3_000)
    }
  }

  function begin(revision: string): void {
    leave()
    const scope = {
      ...(filter.rolloutIds ? { rolloutIds: filter.rolloutIds } : {}),
      ...(filter.deploymentIds ? { deploymentIds: filter.deploymentIds } : {}),
    }
    leave = follow(
      touchedDocument,
      { after: revision, filter: { ...scope, kinds: [...aboutDeployments] } },
      {
        next({ changes: { change, reset } }) {
          if (reset?.reason === 'CURSOR_EXPIRED') return void load()
          if (!change || !('deployment' in change)) return
          touched.add(change.deployment.id)
          flush()
        },
        resume: ({ changes: { cursor } }) => ({ after: cursor }),
      },
    )
  }

  /** One request at a time: an answer that arrives late would restore an old state. */
  let asking: Promise<void> | null = null
  function askTouched(): Promise<void> {
    asking ??= drain().finally(() => {
      asking = null
      if (touched.size > 0) flush()
    })
    return asking
  }

  async function drain(): Promise<void> {
    while (touched.size > 0 && !abort.signal.aborted) {
      const ids = [...touched].slice(0, pageSize)
      for (const id of ids) touched.delete(id)
      const variables = {
        filter: { ...filter, ids },
        orderBy,
        asOf: null,
        first: pageSize,
        after: null,
        isFirst: false,
      }
      try {
        const { deployments } = await ask(pageDocument, variables, abort.signal)
        take(ids, deployments.nodes)
      } catch {
        for (const id of ids) touched.add(id)
        return
      }
    }
  }

  function take(ids: readonly string[], found: readonly Row[]): void {
    const rest = new Set(ids)
    for (const row of found) {
      rest.delete(row.id)
      const known = byId.get(row.id)
      if (!known) order.unshift(row.id)
      else if (orderBy === 'CHANGED_DESC' || (orderBy === 'STATE' && known.state !== row.state)) moved.add(row.id)
      byId.set(row.id, newer(known, row))
    }
    for (const id of rest) if (byId.delete(id)) moved.delete(id)
    if (rest.size > 0) order = order.filter((id) => byId.has(id))
    publish(null)
  }

  void load()
  return {
    rows,
    sortAgain: () => void load(),
    stop() {
      abort.abort()
      leave()
      flush.cancel()
      publish.cancel()
    },
  }
}

type PageAnswer = ResultOf<typeof pageDocument>

const aboutDeployments = [
  'DEPLOYMENT_STATE_CHANGED',
  'COMPONENT_STATE_CHANGED',
  'COMPONENT_REMOVED',
  'DEPLOYMENT_MOVED',
  'DEPLOYMENT_REVISED',
  'DEPLOYMENT_FORGOTTEN',
  'DEPLOYMENT_STALLED',
  'CONVERGENCE_CHANGED',
] as const

function newer(known: Row | undefined, row: Row): Row {
  return known && BigInt(known.revision) > BigInt(row.revision) ? known : row
}
