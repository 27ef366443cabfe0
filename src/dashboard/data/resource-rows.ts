/** A live list of Kubernetes objects. A change carries the object's new row. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { ask } from './api.ts'
import { readPages } from './export.ts'
import { type FragmentOf, graphql } from './graphql.ts'
import { createLiveList, type LiveRows, noRows } from './live-list.ts'
import { throttle } from './throttle.ts'
import { type ChangeFilter, followChanges } from './use-query.ts'

export const resourceFragment = graphql(`
  fragment ResourceRow on Resource {
    id component group version kind name namespace sync presence readiness reason message changedAt revision
    target { __typename id name }
    instance { id instanceId }
  }
`)

export type Resource = FragmentOf<typeof resourceFragment>

const pageFragment = graphql(
  `fragment ResourcePage on ResourceConnection { totalCount nodes { ...ResourceRow } pageInfo { hasNextPage endCursor } }`,
  [resourceFragment],
)

const ofRollout = graphql(
  `
    query ResourcesOfRollout($id: ID!, $asOf: DateTime, $filter: ResourceFilter, $run: [String!], $first: Int!, $after: String) {
      revision
      rollout(id: $id, asOf: $asOf) {
        resources(filter: $filter, first: $first, after: $after) { ...ResourcePage }
        all: resourceCounts(filter: { instanceIds: $run }) { total }
      }
    }
  `,
  [pageFragment],
)

const ofDeployment = graphql(
  `
    query ResourcesOfDeployment($deploymentId: String!, $reporter: String!, $asOf: DateTime, $filter: ResourceFilter, $first: Int!, $after: String) {
      revision
      deployment(deploymentId: $deploymentId, deviceId: $reporter, asOf: $asOf) {
        resources(filter: $filter, first: $first, after: $after) { ...ResourcePage }
        all: resourceCounts { total }
      }
    }
  `,
  [pageFragment],
)

const ofFleet = graphql(
  `
    query Resources($filter: ResourceFilter, $first: Int!, $after: String) {
      revision
      resources(filter: $filter, first: $first, after: $after) { ...ResourcePage }
      all: resourceCounts { total }
    }
  `,
  [pageFragment],
)

const changedDocument = graphql(
  `
    subscription ChangedResources($after: Revision, $filter: ChangeFilter) {
      changes(after: $after, filter: $filter) {
        cursor
        reset { reason }
        change { ... on ResourceStatusChanged { resource { ...ResourceRow } } }
      }
    }
  `,
  [resourceFragment],
)

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

export type ResourcesOf =
  /** `run` null: all runs of a resource bundle, one per cloud region. */
  | { readonly of: 'rollout'; readonly id: string; readonly run: string | null }
  | {
      readonly of: 'deployment'
      readonly deploymentId: string
      readonly reporter: string
      readonly run: string
      readonly target: string
    }
  | { readonly of: 'fleet' }

interface Page {
  readonly revision: string
  readonly page: FragmentOf<typeof pageFragment> | null
  /** The number of resources without the filter. */
  readonly all: number
}

const pageSize = 60

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

function createResourceRows(what: ResourcesOf, filter: ResourceFilter, asOf: string | null) {
  const all = signal<number | null>(null)
  const count = throttle(calm, () => {
    askPage(what, filter, null, { first: 0, after: null }, list.signal).then(
      (answer) => {
        all.value = answer.all
        list.count(answer.page?.totalCount ?? 0)
      },
      // The next change counts again.
      () => undefined,
    )
  })
  const list = createLiveList({
    newRows: 'last',
    async askPage(after, signal) {
      const answer = await askPage(what, filter, asOf, { first: pageSize, after }, signal)
      all.value = answer.all
      return answer
    },
    follow(revision, expired) {
      if (asOf !== null) return () => undefined
      return followChanges(changedDocument, revision, changesOf(what), expired, (change) => {
        if (!('resource' in change)) return
        const { resource } = change
        if (belongs(what, resource) && matchesFilter(filter, resource)) list.put(resource)
        else list.remove([resource.id])
        count()
      })
    },
  })
  return {
    rows: list.rows,
    all,
    more: list.more,
    pages: list.pages,
    stop() {
      list.stop()
      count.cancel()
    },
  }
}

/** Milliseconds between two counts of the list. */
const calm = 1_000

interface PageArguments {
  readonly first: number
  readonly after: string | null
}

async function askPage(
  what: ResourcesOf,
  { apps, kinds, readiness, sync, cluster, text }: ResourceFilter,
  asOf: string | null,
  page: PageArguments,
  signal: AbortSignal,
): Promise<Page> {
  const filter = {
    ...(apps.length > 0 ? { apps: [...apps] } : {}),
    ...(kinds.length > 0 ? { kinds: [...kinds] } : {}),
    ...(readiness.length > 0 ? { readiness: [...readiness] } : {}),
    ...(sync.length > 0 ? { sync: [...sync] } : {}),
    ...(cluster === null ? {} : { clusters: [`+${cluster}`, cluster] }),
    ...(text === '' ? {} : { text }),
  }
  switch (what.of) {
    case 'rollout': {
      const run = what.run === null ? null : [what.run]
      const within = run ? { ...filter, instanceIds: run } : filter
      const { revision, rollout } = await ask(ofRollout, { id: what.id, filter: within, run, asOf, ...page }, signal)
      return { revision, page: rollout?.resources ?? null, all: rollout?.all.total ?? 0 }
    }
    case 'deployment': {
      const { deploymentId, reporter } = what
      const { revision, deployment } = await ask(
        ofDeployment,
        { deploymentId, reporter, asOf, filter, ...page },
        signal,
      )
      return { revision, page: deployment?.resources ?? null, all: deployment?.all.total ?? 0 }
    }
    case 'fleet': {
      const { revision, resources, all } = await ask(ofFleet, { filter, ...page }, signal)
      return { revision, page: resources, all: all.total }
    }
  }
}

function changesOf(what: ResourcesOf): ChangeFilter {
  const kinds = { kinds: ['RESOURCE_STATUS_CHANGED' as const] }
  if (what.of === 'fleet') return kinds
  return what.of === 'rollout' && what.run === null
    ? { ...kinds, rolloutIds: [what.id] }
    : { ...kinds, instanceIds: [what.run ?? ''] }
}

const belongs = (what: ResourcesOf, resource: Resource): boolean =>
  what.of !== 'deployment' || resource.target.id === what.target

function matchesFilter(filter: ResourceFilter, resource: Resource): boolean {
  const { apps, kinds, readiness, sync, cluster } = filter
  const { name, kind, namespace, component, reason, message, target } = resource
  const text = filter.text.toLowerCase()
  return (
    (apps.length === 0 || apps.includes(component)) &&
    (kinds.length === 0 || kinds.includes(kind)) &&
    (readiness.length === 0 || readiness.includes(resource.readiness)) &&
    (sync.length === 0 || (resource.sync !== null && sync.includes(resource.sync))) &&
    (cluster === null || cluster === target.name) &&
    [name, kind, namespace, component, reason, message, target.name].some((part) => part?.toLowerCase().includes(text))
  )
}
