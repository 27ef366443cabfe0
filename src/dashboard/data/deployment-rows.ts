/**
 * A live list of deployments, also while thousands change:
 *
 *   pages, as they scroll into view ──▸ rows ◂── queried by id with the same filter ◂── changed ids ◂── changes(after:)
 *
 * The server decides whether a changed deployment still matches: the query has the list's own filter. The same answer counts the
 * whole list. Only a list of the latest changes puts rows of other pages on top; a button sorts it again.
 */
import { signal } from '@preact/signals'
import { ask } from './api.ts'
import { type FragmentOf, graphql, type VariablesOf } from './graphql.ts'
import type { Counts } from './labels.ts'
import { createLiveList } from './live-list.ts'
import { throttle } from './throttle.ts'
import { followChanges } from './use-query.ts'

export const rowFragment = graphql(`
  fragment Row on Deployment {
    id deploymentId reporter application applicationVersion state stalled attempt consistent revision changedAt
    convergence adoptedManifestVersion targetManifestVersion readiness
    error { code message }
    components { name state readiness error { code message } }
    target { __typename id name kind connectivity ... on Device { deviceId } }
    rollout { id name kind }
    broken: resources(filter: { readiness: [FAILED] }, first: 1) { nodes { kind name reason message } }
  }
`)

export type Row = FragmentOf<typeof rowFragment>

const listCounts = graphql(
  `fragment ListCounts on DeploymentCounts { total pending installing installed failed removing removed }`,
)

const pageDocument = graphql(
  `
    query Deployments($filter: DeploymentFilter, $orderBy: DeploymentOrder, $asOf: DateTime, $first: Int!, $after: String, $isFirst: Boolean!) {
      revision
      counts: deploymentCounts(filter: $filter, asOf: $asOf) @include(if: $isFirst) { ...ListCounts }
      deployments(filter: $filter, orderBy: $orderBy, asOf: $asOf, first: $first, after: $after) {
        nodes { ...Row }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [rowFragment, listCounts],
)

const touchedRows = graphql(
  `
    query TouchedDeployments($filter: DeploymentFilter, $whole: DeploymentFilter) {
      counts: deploymentCounts(filter: $whole) { ...ListCounts }
      deployments(filter: $filter, first: 100) { nodes { ...Row } }
    }
  `,
  [rowFragment, listCounts],
)

const touchedDocument = graphql(`
  subscription Touched($after: Revision, $filter: ChangeFilter) {
    changes(after: $after, filter: $filter) {
      cursor
      reset { reason }
      change {
        __typename
        ... on DeploymentChange { deployment { id } }
        ... on ResourceStatusChanged { resource { deployment { id } } }
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

/** More than a screen, and little to send. */
const pageSize = 60
/** The API's largest page. */
const mostTouched = 100
const calm = 300

export function createDeploymentRows({ filter, orderBy, asOf }: ListOf) {
  /** Rows whose position is outdated. */
  const moved = signal<ReadonlySet<string>>(new Set())
  /** All rows of all pages. */
  const counts = signal<Counts | null>(null)
  let touched = new Set<string>()
  const flush = throttle(calm, () => void askTouched())
  const scope = {
    ...(filter.rolloutIds ? { rolloutIds: filter.rolloutIds } : {}),
    ...(filter.deploymentIds ? { deploymentIds: filter.deploymentIds } : {}),
  }

  const list = createLiveList({
    newRows: orderBy === 'CHANGED_DESC' ? 'first' : 'asked',
    askPage: async (after, signal) => {
      const variables = { filter, orderBy, asOf, first: pageSize, after, isFirst: after === null }
      const answer = await ask(pageDocument, variables, signal)
      counts.value = answer.counts ?? counts.value
      return { revision: answer.revision, page: { totalCount: answer.counts?.total ?? null, ...answer.deployments } }
    },
    follow(revision, expired) {
      touched = new Set()
      moved.value = new Set()
      if (asOf !== null) return () => undefined
      return followChanges(touchedDocument, revision, { ...scope, kinds: [...aboutDeployments] }, expired, (change) => {
        const subject = 'resource' in change ? change.resource : change
        if (!('deployment' in subject)) return
        touched.add(subject.deployment.id)
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
      // The other rows are on pages that are not loaded. One of them is enough to count the list again.
      const mayShow = orderBy === 'CHANGED_DESC' || list.rows.value.isComplete
      const shown = mayShow ? [...touched] : [...touched].filter((id) => list.get(id))
      const ids = (shown.length > 0 ? shown : [...touched].slice(0, 1)).slice(0, mostTouched)
      touched = new Set(shown).difference(new Set(ids))
      try {
        const answer = await ask(touchedRows, { filter: { ...filter, ids }, whole: filter }, list.signal)
        counts.value = answer.counts
        list.count(answer.counts.total)
        take(ids, answer.deployments.nodes)
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
    counts,
    moved,
    more: list.more,
    pages: list.pages,
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
  'RESOURCE_STATUS_CHANGED',
] as const
