/** A live list of Kubernetes objects: each page is followed by the IDs of its rows, and what enters by the time of its last change. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { ask, follow } from './api.ts'
import { readPages } from './export.ts'
import { type FragmentOf, graphql, type VariablesOf } from './graphql.ts'
import { createLiveList, type LiveRows, noRows } from './live-list.ts'

export const resourceFragment = graphql(`
  fragment ResourceRow on Resource {
    id component group version kind name namespace sync presence readiness reason message changedAt revision
    target { __typename id name }
    instance { id instanceId }
  }
`)

export type Resource = FragmentOf<typeof resourceFragment>

const pageDocument = graphql(
  `
    query Resources($filter: ResourceFilter, $whole: ResourceFilter, $asOf: DateTime, $first: Int!, $after: String, $isFirst: Boolean!) {
      revision
      history @include(if: $isFirst) { newestTime }
      all: resourceCounts(filter: $whole, asOf: $asOf) @include(if: $isFirst) { total }
      counts: resourceCounts(filter: $filter, asOf: $asOf) @include(if: $isFirst) { total }
      resources(filter: $filter, asOf: $asOf, first: $first, after: $after) {
        nodes { ...ResourceRow }
        pageInfo { hasNextPage endCursor }
      }
    }
  `,
  [resourceFragment],
)

const liveRows = graphql(
  `
    subscription LiveResources($filter: ResourceFilter, $first: Int!, $after: Revision) {
      resources(filter: $filter, first: $first, after: $after) {
        cursor isSnapshot removed hasNextPage
        rows { resource { ...ResourceRow } }
      }
    }
  `,
  [resourceFragment],
)

const countsDocument = graphql(`
  subscription CountResources($filter: ResourceFilter) { resourceCounts(filter: $filter) { counts { total } } }
`)

type Conditions = NonNullable<VariablesOf<typeof pageDocument>['filter']>

/** An empty list matches any value. */
export interface ResourceFilter {
  readonly apps: readonly string[]
  readonly kinds: readonly string[]
  readonly readiness: readonly Resource['readiness'][]
  readonly sync: readonly NonNullable<Resource['sync']>[]
  /** The name of a cluster or cloud region. Null: any. */
  readonly cluster: string | null
  /** Part of a name, reason or message; empty: any. */
  readonly text: string
}

type ResourcesOf =
  /** `run` null: all runs of a resource bundle, one per cloud region. */
  | { readonly of: 'rollout'; readonly id: string; readonly run: string | null }
  /** `cluster`: as `clusters` of the filter has it. */
  | { readonly of: 'deployment'; readonly run: string; readonly cluster: string }
  | { readonly of: 'fleet' }

const pageSize = 60
/** Rows that may enter the list before it is loaded again. The server sends at most as many. */
const mostEntered = 100

export interface Resources extends LiveRows<Resource> {
  /** The number of resources without the filter. */
  readonly all: number | null
  readonly more: () => void
  readonly pages: () => AsyncIterable<readonly Resource[]>
}

const none: Resources = {
  ...noRows,
  all: null,
  more: () => undefined,
  pages: () => readPages(() => Promise.resolve(null)),
}

export function useResources(what: ResourcesOf | null, filter: ResourceFilter, asOf: string | null): Resources {
  const key = JSON.stringify([what, filter, asOf])
  const source = useMemo(() => (what ? createResourceRows(what, filter, asOf) : null), [key])
  useEffect(() => source?.stop, [source])
  return source ? { ...source.rows.value, all: source.all.value, more: source.more, pages: source.pages } : none
}

function createResourceRows(what: ResourcesOf, chosen: ResourceFilter, asOf: string | null) {
  const all = signal<number | null>(null)
  const whole = wholeOf(what)
  const filter = { ...conditionsOf(chosen), ...whole }
  /** A moment before all changes that follow the last answer, and the first page of the list. */
  let [newestAt, since] = ['', '']
  let followed: (() => void)[] = []

  const list = createLiveList({
    newRows: 'end-when-complete',
    async askPage(after, signal) {
      const variables = { filter, whole, asOf, first: pageSize, after, isFirst: after === null }
      const { revision, resources, history, counts, all: found } = await ask(pageDocument, variables, signal)
      if (found) all.value = found.total
      // A later change may have the same time.
      if (history) newestAt = new Date(Date.parse(history.newestTime) - 1).toISOString()
      return { revision, page: { totalCount: counts?.total ?? null, ...resources } }
    },
    follow() {
      if (asOf !== null) return () => undefined
      since = newestAt
      followed = [
        followCount(filter, list.count),
        followCount(whole, (total) => {
          all.value = total
        }),
      ]
      return () => {
        for (const leave of followed) leave()
      }
    },
    followPage(revision, rows, isLast) {
      if (asOf !== null) return
      const ids = rows.map(({ id }) => id)
      if (ids.length > 0) followed.push(followRows({ ...filter, ids }, revision))
      // On a list with more pages, a row that enters is on one of them.
      if (isLast) followed.push(followRows({ ...filter, changedAfter: since }, null))
    },
  })

  /** `after` null: the rows of the present, and what follows. */
  function followRows(of: Conditions, after: string | null): () => void {
    const known = new Set(of.ids)
    const variables = { filter: of, first: mostEntered, after }
    return follow(liveRows, variables, ({ resources: { isSnapshot, rows, removed, hasNextPage } }) => {
      if (hasNextPage) return list.reload()
      const found = rows.map(({ resource }) => resource)
      list.remove(isSnapshot ? known.difference(new Set(found.map(({ id }) => id))) : removed)
      for (const row of found) {
        known.add(row.id)
        list.put(row)
      }
    })
  }

  return {
    rows: list.rows,
    all,
    more: list.more,
    pages: list.pages,
    stop: list.stop,
  }
}

function followCount(filter: Conditions, counted: (total: number) => void): () => void {
  return follow(countsDocument, { filter }, ({ resourceCounts }) => counted(resourceCounts.counts.total))
}

/** The resources without what a person has chosen. */
function wholeOf(what: ResourcesOf): Conditions {
  switch (what.of) {
    case 'rollout':
      return { rolloutIds: [what.id], ...(what.run === null ? {} : { instanceIds: [what.run] }) }
    case 'deployment':
      return { instanceIds: [what.run], clusters: [what.cluster] }
    case 'fleet':
      return {}
  }
}

function conditionsOf({ apps, kinds, readiness, sync, cluster, text }: ResourceFilter): Conditions {
  return {
    ...(apps.length > 0 ? { apps: [...apps] } : {}),
    ...(kinds.length > 0 ? { kinds: [...kinds] } : {}),
    ...(readiness.length > 0 ? { readiness: [...readiness] } : {}),
    ...(sync.length > 0 ? { sync: [...sync] } : {}),
    ...(cluster === null ? {} : { clusters: [`+${cluster}`, cluster] }),
    ...(text === '' ? {} : { text }),
  }
}
