/**
 * A live list of deployments, also while thousands change:
 *
 *   pages, as they scroll into view ──▸ rows ◂── live list of the deployments of each page
 *                                        ▲
 *                                        └── live list of those that enter ◂── IDs ◂── live list of the latest changes
 *
 * The server decides whether a changed deployment still matches. It sends only what changed after the page's revision. Only a list of the
 * latest changes puts rows of other pages on top; a button sorts it again.
 */
import { signal } from '@preact/signals'
import { ApiError } from '../../client/client.ts'
import { ask, follow } from './api.ts'
import { type FragmentOf, graphql, type VariablesOf } from './graphql.ts'
import type { Counts } from './labels.ts'
import { createLiveList } from './live-list.ts'
import { throttle } from './throttle.ts'

const rowFragment = graphql(`
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
    query Deployments($filter: DeploymentFilter, $ordering: DeploymentOrdering, $asOf: DateTime, $first: Int!, $after: String, $isFirst: Boolean!) {
      revision
      counts: deploymentCounts(filter: $filter, asOf: $asOf) @include(if: $isFirst) { ...ListCounts }
      deployments(filter: $filter, ordering: $ordering, asOf: $asOf, first: $first, after: $after) {
        nodes { ...Row }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [rowFragment, listCounts],
)

/** A list of the latest changes: `after` is a revision that the page has shown. */
const liveRows = graphql(
  `
    subscription LiveDeployments($filter: DeploymentFilter, $first: Int!, $after: Revision) {
      deployments(filter: $filter, first: $first, after: $after) {
        cursor isSnapshot removed
        rows { deployment { ...Row } }
      }
    }
  `,
  [rowFragment],
)

const latestRows = graphql(`
  subscription LatestDeployments($filter: DeploymentFilter, $first: Int!, $after: Revision) {
    deployments(filter: $filter, first: $first, after: $after) {
      cursor
      rows { deployment { id revision } }
    }
  }
`)

const countsDocument = graphql(
  `
    subscription ListCounts($filter: DeploymentFilter) {
      deploymentCounts(filter: $filter) { counts { ...ListCounts } }
    }
  `,
  [listCounts],
)

export type DeploymentFilter = NonNullable<VariablesOf<typeof pageDocument>['filter']>
type Ordering = NonNullable<VariablesOf<typeof pageDocument>['ordering']>

/** The orders, by the names that addresses of pages have. */
const orderings = {
  CHANGED_DESC: { field: 'CHANGED', direction: 'DESC' },
  CHANGED_ASC: { field: 'CHANGED', direction: 'ASC' },
  STATE: { field: 'STATE', direction: 'ASC' },
  STATE_DESC: { field: 'STATE', direction: 'DESC' },
  NAME: { field: 'NAME', direction: 'ASC' },
  NAME_DESC: { field: 'NAME', direction: 'DESC' },
} as const satisfies Readonly<Record<string, Ordering>>
export type DeploymentOrder = keyof typeof orderings

export interface ListOf {
  readonly filter: DeploymentFilter
  readonly orderBy: DeploymentOrder
  /** Null: the present, kept up to date. */
  readonly asOf: string | null
}

/** Rows that have entered and whose live list is extended as others enter. */
interface Entering {
  readonly ids: ReadonlySet<string>
  /** The revision before they entered. Null: there are none. */
  readonly since: string | null
  readonly leave: () => void
}

const noneEntering: Entering = { ids: new Set(), since: null, leave: () => undefined }

/** More than a screen, and little to send. */
const pageSize = 60
/** Milliseconds between two extensions of the live list of new rows. */
const refreshInterval = 300

export function createDeploymentRows({ filter, orderBy, asOf }: ListOf) {
  /** Rows whose position is outdated. */
  const moved = signal<ReadonlySet<string>>(new Set())
  /** All rows of all pages. */
  const counts = signal<Counts | null>(null)
  /** Whether the server refuses to count the rows: a count reads more than a page. */
  const isUncounted = signal(false)
  /** The live lists of the pages, and of the rows that have entered since. */
  let followed: (() => void)[] = []
  let live = new Set<string>()
  let entering: Entering = noneEntering
  const flush = throttle(refreshInterval, () => followEntering())

  const list = createLiveList({
    newRows: orderBy === 'CHANGED_DESC' ? 'top' : 'top-when-complete',
    askPage: async (after, signal) => {
      const variables = { filter, ordering: orderings[orderBy], asOf, first: pageSize, after, isFirst: after === null }
      const answer = await ask(pageDocument, variables, signal).catch((error: unknown) => {
        if (!variables.isFirst || !(error instanceof ApiError) || error.code !== 'BAD_USER_INPUT') throw error
        isUncounted.value = true
        return ask(pageDocument, { ...variables, isFirst: false }, signal)
      })
      counts.value = answer.counts ?? counts.value
      return { revision: answer.revision, page: { totalCount: answer.counts?.total ?? null, ...answer.deployments } }
    },
    follow(revision) {
      moved.value = new Set()
      if (asOf !== null) return () => undefined
      followed = [followLatest(revision), ...(isUncounted.value ? [] : [followCounts()])]
      live = new Set()
      entering = noneEntering
      return () => {
        flush.cancel()
        for (const leave of [...followed, entering.leave]) leave()
      }
    },
    followPage(revision, rows) {
      const ids = rows.map(({ id }) => id).filter((id) => !live.has(id))
      if (asOf === null && ids.length > 0) followed.push(followRows(revision, ids))
    },
  })

  /** Keeps the rows up to date, also those that leave the list and come back. */
  function followRows(after: string, ids: readonly string[]): () => void {
    for (const id of ids) live.add(id)
    const variables = { filter: { ...filter, ids: [...ids] }, first: ids.length, after }
    return follow(liveRows, variables, ({ deployments: { isSnapshot, rows, removed } }) => {
      const found = rows.map(({ deployment }) => deployment)
      const left = isSnapshot ? new Set(ids).difference(new Set(found.map(({ id }) => id))) : new Set(removed)
      take(found, left)
    })
  }

  /** Finds the rows that enter the list. Each becomes the latest when it does. */
  function followLatest(revision: string): () => void {
    let cursor = revision
    return follow(
      latestRows,
      { filter, first: pageSize, after: revision },
      ({ deployments: { cursor: next, rows } }) => {
        const since = cursor
        cursor = next
        const changed = rows.filter(({ deployment }) => BigInt(deployment.revision) > BigInt(since))
        const ids = changed.map(({ deployment }) => deployment.id).filter((id) => !live.has(id))
        if (ids.length === 0 || !(orderBy === 'CHANGED_DESC' || list.isComplete())) return
        // More rows may have entered than the update has.
        if (changed.length === pageSize) return list.size() > pageSize ? markMoved(ids) : list.reload()
        entering = { ...entering, ids: entering.ids.union(new Set(ids)), since: entering.since ?? since }
        flush()
      },
    )
  }

  function followEntering(): void {
    const { ids, since, leave } = entering
    leave()
    if (since === null) return
    const all = [...ids]
    const rest = all.splice(all.length - (all.length % pageSize))
    for (let from = 0; from < all.length; from += pageSize)
      followed.push(followRows(since, all.slice(from, from + pageSize)))
    entering = rest.length === 0 ? noneEntering : { ids: new Set(rest), since, leave: followRows(since, rest) }
  }

  function markMoved(ids: readonly string[]): void {
    moved.value = moved.value.union(new Set(ids))
  }

  function followCounts(): () => void {
    return follow(countsDocument, { filter }, ({ deploymentCounts }) => {
      counts.value = deploymentCounts.counts
      list.count(deploymentCounts.counts.total)
    })
  }

  function take(found: readonly Row[], left: ReadonlySet<string>): void {
    const outdated = new Set(moved.value)
    // The latest is put on top last.
    for (const row of found.toReversed()) {
      const known = list.get(row.id)
      const isElsewhere =
        orderBy === 'CHANGED_DESC'
          ? known?.revision !== row.revision
          : orderings[orderBy].field === 'STATE' && known?.state !== row.state
      if (known && isElsewhere) outdated.add(row.id)
      list.put(row)
    }
    if (left.size > 0) list.remove(left)
    moved.value = outdated.difference(left)
  }

  return {
    about: JSON.stringify([filter, asOf]),
    rows: list.rows,
    counts,
    isUncounted,
    moved,
    more: list.more,
    pages: list.pages,
    sortAgain: list.reload,
    stop: list.stop,
  }
}
