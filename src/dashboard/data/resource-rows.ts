/**
 * A live list of Kubernetes objects. A change carries the object's new row. Filters apply on the page: they repeat no request.
 */
import { useEffect, useMemo } from 'preact/hooks'
import { ask } from './api.ts'
import { type FragmentOf, graphql } from './graphql.ts'
import { createLiveList, type LiveRows, noRows } from './live-list.ts'
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
    query ResourcesOfRollout($id: ID!, $asOf: DateTime, $filter: ResourceFilter, $after: String) {
      revision
      rollout(id: $id, asOf: $asOf) { resources(filter: $filter, first: 100, after: $after) { ...ResourcePage } }
    }
  `,
  [pageFragment],
)

const ofDeployment = graphql(
  `
    query ResourcesOfDeployment($deploymentId: String!, $reporter: String!, $asOf: DateTime, $after: String) {
      revision
      deployment(deploymentId: $deploymentId, deviceId: $reporter, asOf: $asOf) {
        resources(first: 100, after: $after) { ...ResourcePage }
      }
    }
  `,
  [pageFragment],
)

const ofFleet = graphql(
  `
    query Resources($filter: ResourceFilter, $after: String) {
      revision
      resources(filter: $filter, first: 100, after: $after) { ...ResourcePage }
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
  readonly kinds: readonly string[]
  readonly readiness: readonly Resource['readiness'][]
  readonly sync: readonly NonNullable<Resource['sync']>[]
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
  | { readonly of: 'fleet'; readonly filter: ResourceFilter }

interface Page {
  readonly revision: string
  readonly page: FragmentOf<typeof pageFragment> | null
}

export type Resources = LiveRows<Resource>

export function useResources(what: ResourcesOf | null, asOf: string | null): Resources {
  const key = JSON.stringify([what, asOf])
  const source = useMemo(() => (what ? createResourceRows(what, asOf) : null), [key])
  useEffect(() => source?.stop, [source])
  return source?.rows.value ?? noRows
}

function createResourceRows(what: ResourcesOf, asOf: string | null) {
  const list = createLiveList({
    newRows: 'last',
    askPage: (after, signal) => askPage(what, asOf, after, signal),
    follow(revision, expired) {
      if (asOf !== null) return () => undefined
      return followChanges(changedDocument, revision, changesOf(what), expired, (change) => {
        if (!('resource' in change)) return
        const { resource } = change
        if (belongs(what, resource)) list.put(resource)
        else list.remove([resource.id])
      })
    },
  })
  return list
}

async function askPage(
  what: ResourcesOf,
  asOf: string | null,
  after: string | null,
  signal: AbortSignal,
): Promise<Page> {
  switch (what.of) {
    case 'rollout': {
      const filter = what.run === null ? null : { instanceIds: [what.run] }
      const { revision, rollout } = await ask(ofRollout, { id: what.id, filter, asOf, after }, signal)
      return { revision, page: rollout?.resources ?? null }
    }
    case 'deployment': {
      const { deploymentId, reporter } = what
      const { revision, deployment } = await ask(ofDeployment, { deploymentId, reporter, asOf, after }, signal)
      return { revision, page: deployment?.resources ?? null }
    }
    case 'fleet': {
      const { kinds, readiness, sync } = what.filter
      const filter = {
        ...(kinds.length > 0 ? { kinds: [...kinds] } : {}),
        ...(readiness.length > 0 ? { readiness: [...readiness] } : {}),
        ...(sync.length > 0 ? { sync: [...sync] } : {}),
      }
      const { revision, resources } = await ask(ofFleet, { filter, after }, signal)
      return { revision, page: resources }
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

function belongs(what: ResourcesOf, resource: Resource): boolean {
  switch (what.of) {
    case 'rollout':
      return true
    case 'deployment':
      return resource.target.id === what.target
    case 'fleet':
      return matchesFilter(what.filter, resource)
  }
}

export function matchesFilter({ kinds, readiness, sync }: ResourceFilter, resource: Resource): boolean {
  return (
    (kinds.length === 0 || kinds.includes(resource.kind)) &&
    (readiness.length === 0 || readiness.includes(resource.readiness)) &&
    (sync.length === 0 || (resource.sync !== null && sync.includes(resource.sync)))
  )
}
