/**
 * A live list of deployments, also while thousands change:
 *
 *   pages, one after the other ──▸ rows ◂── queried by id with the same filter ◂── changed ids ◂── changes(after:)
 *
 * The server decides whether a changed deployment still matches: the query has the list's own filter. New rows come first, and
 * a button sorts the list again.
 */
import { signal } from '@preact/signals'
import { ask } from './api.ts'
import { type FragmentOf, graphql, type VariablesOf } from './graphql.ts'
import { createLiveList } from './live-list.ts'
import { throttle } from './throttle.ts'
import { followChanges } from './use-query.ts'

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

/** The API's largest page. */
const pageSize = 100
const calm = 300

export function createDeploymentRows({ filter, orderBy, asOf }: ListOf) {
  /** Rows whose position is outdated. */
  const moved = signal<ReadonlySet<string>>(new Set())
  let touched = new Set<string>()
  const flush = throttle(calm, () => void askTouched())
  const scope = {
    ...(filter.rolloutIds ? { rolloutIds: filter.rolloutIds } : {}),
    ...(filter.deploymentIds ? { deploymentIds: filter.deploymentIds } : {}),
  }

  const list = createLiveList({
    newRows: 'first',
    askPage: async (after, signal) => {
      const variables = { filter, orderBy, asOf, first: pageSize, after, isFirst: after === null }
      const { revision, deployments } = await ask(pageDocument, variables, signal)
      return { revision, page: deployments }
    },
    follow(revision, expired) {
      touched = new Set()
      moved.value = new Set()
      if (asOf !== null) return () => undefined
      return followChanges(touchedDocument, revision, { ...scope, kinds: [...aboutDeployments] }, expired, (change) => {
        if (!('deployment' in change)) return
        touched.add(change.deployment.id)
        flush()
      })
    },
  })

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
    while (touched.size > 0 && !list.signal.aborted) {
      const ids = [...touched].slice(0, pageSize)
      for (const id of ids) touched.delete(id)
      const page = { orderBy, asOf: null, first: pageSize, after: null, isFirst: false }
      try {
        const { deployments } = await ask(pageDocument, { filter: { ...filter, ids }, ...page }, list.signal)
        take(ids, deployments.nodes)
      } catch {
        for (const id of ids) touched.add(id)
        return
      }
    }
  }

  function take(ids: readonly string[], found: readonly Row[]): void {
    const gone = new Set(ids)
    const outdated = new Set(moved.value)
    for (const row of found) {
      gone.delete(row.id)
      const known = list.get(row.id)
      if (known && (orderBy === 'CHANGED_DESC' || (orderBy === 'STATE' && known.state !== row.state)))
        outdated.add(row.id)
      list.put(row)
    }
    if (gone.size > 0) list.remove(gone)
    moved.value = outdated.difference(gone)
  }

  return {
    rows: list.rows,
    moved,
    sortAgain: list.reload,
    stop() {
      list.stop()
      flush.cancel()
    },
  }
}

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
