/**
 * A live list of Kubernetes objects: loaded page by page, then updated by the changes that follow the first page's revision.
 * Filters apply on the page: they repeat no request.
 */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { ApiError, ask, follow } from './api.ts'
import { type FragmentOf, graphql } from './graphql.ts'
import { type ChangeFilter, perFrame } from './use-query.ts'

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
export interface Wanted {
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
  | { readonly of: 'fleet'; readonly wanted: Wanted }

interface Page {
  readonly revision: string
  readonly page: FragmentOf<typeof pageFragment> | null
}

export interface Resources {
  readonly list: readonly Resource[]
  readonly total: number | null
  readonly isComplete: boolean
  readonly error: ApiError | null
}

/** The most rows that are loaded; a longer list is for filtering, not for reading. */
const most = 20_000

export function useResources(what: ResourcesOf | null, asOf: string | null): Resources {
  const key = JSON.stringify([what, asOf])
  const source = useMemo(() => (what ? createResourceRows(what, asOf) : null), [key])
  useEffect(() => source?.stop, [source])
  return source?.rows.value ?? { list: [], total: null, isComplete: false, error: null }
}

function createResourceRows(what: ResourcesOf, asOf: string | null) {
  const rows = signal<Resources>({ list: [], total: null, isComplete: false, error: null })
  const abort = new AbortController()
  let byId = new Map<string, Resource>()
  let total: number | null = null
  let isComplete = false
  let leave = (): void => undefined
  let retry: ReturnType<typeof setTimeout> | undefined

  const publish = perFrame<ApiError | null>((error) => {
    rows.value = { list: [...byId.values()], total: Math.max(total ?? 0, byId.size), isComplete, error }
  })

  async function load(): Promise<void> {
    const fresh = new Map<string, Resource>()
    let after: string | null = null
    let began = '0'
    try {
      do {
        const { revision, page }: Page = await askPage(what, asOf, after, abort.signal)
        if (after === null) {
          total = page?.totalCount ?? 0
          began = revision
          if (asOf === null) begin(revision)
        }
        for (const row of page?.nodes ?? []) fresh.set(row.id, newer(byId.get(row.id), row))
        after = page?.pageInfo.hasNextPage && fresh.size < most ? page.pageInfo.endCursor : null
        if (!isComplete || after === null) {
          // Rows from changes are newer than the pages loaded before them.
          for (const [id, row] of byId)
            if (BigInt(row.revision) > BigInt(began)) fresh.set(id, newer(fresh.get(id), row))
          byId = fresh
          isComplete = after === null
          publish(null)
        }
      } while (after !== null)
    } catch (error) {
      if (abort.signal.aborted) return
      publish(error instanceof ApiError ? error : new ApiError('UNKNOWN', String(error)))
      retry = setTimeout(() => void load(), 3_000)
    }
  }

  function begin(revision: string): void {
    leave()
    leave = follow(
      changedDocument,
      { after: revision, filter: changesOf(what) },
      {
        next({ changes: { change, reset } }) {
          if (reset?.reason === 'CURSOR_EXPIRED') return void load()
          if (!change || !('resource' in change)) return
          const { resource } = change
          if (belongs(what, resource)) byId.set(resource.id, newer(byId.get(resource.id), resource))
          else byId.delete(resource.id)
          publish(null)
        },
        resume: ({ changes: { cursor } }) => ({ after: cursor }),
      },
    )
  }

  void load()
  return {
    rows,
    stop() {
      abort.abort()
      clearTimeout(retry)
      leave()
      publish.cancel()
    },
  }
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
      const { kinds, readiness, sync } = what.wanted
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
      return isWanted(what.wanted, resource)
  }
}

export function isWanted({ kinds, readiness, sync }: Wanted, resource: Resource): boolean {
  return (
    (kinds.length === 0 || kinds.includes(resource.kind)) &&
    (readiness.length === 0 || readiness.includes(resource.readiness)) &&
    (sync.length === 0 || (resource.sync !== null && sync.includes(resource.sync)))
  )
}

function newer(known: Resource | undefined, row: Resource): Resource {
  return known && BigInt(known.revision) > BigInt(row.revision) ? known : row
}
