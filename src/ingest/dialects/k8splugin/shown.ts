/** Instances and their status in the plugin's format (docs/wire.md §3). */
import { DomainError } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/orchestration/instance.ts'
import type { Resource } from '../../../domain/orchestration/resource.ts'
import { singleParameters } from '../../../platform/body/parameters.ts'
import type { Named, Showing } from '../dialect.ts'
import type { Readers } from '../readers.ts'

/** Documents of a list that are read together. */
const together = 8

export const listInstances = showing('listInstances', (query) => async (readers) => ({
  parts: instanceList(readers, query),
}))

export function showInstance(instanceId: string): Named<Showing> {
  return showing('showInstance', () => async (readers) => {
    const { key } = await requireInstance(readers, instanceId)
    return { json: (await readers.documents([key])).get(key) }
  })
}

/** The query's kind, name and namespace filter the list, as the self links of the inventory do. */
export function showStatus(instanceId: string): Named<Showing> {
  return showing('showInstanceStatus', (query) => async (readers) => ({
    json: await statusOf(readers, instanceId, query),
  }))
}

function showing(operation: string, show: (query: URLSearchParams) => ReturnType<Showing['show']>): Named<Showing> {
  return { operation, does: 'show', access: 'viewer', show: (query) => show(singleParameters(query)) }
}

interface InstanceDocument {
  readonly id: string
  readonly request: Readonly<Record<string, unknown>>
  readonly namespace?: string
}

/** As in the plugin: an absent or empty one selects all. */
const listFilters = ['rb-name', 'rb-version', 'profile-name'] as const

/** A document has up to the size of a body, of which the list shows a part. */
async function* instanceList(readers: Readers, wanted: URLSearchParams): AsyncGenerator<string> {
  const instances = await readers.bundleInstances()
  let separator = ''
  yield '['
  for (let from = 0; from < instances.length; from += together) {
    const keys = instances.slice(from, from + together).map(({ key }) => key)
    const documents = await readers.documents(keys)
    for (const key of keys) {
      const document = documents.get(key) as InstanceDocument | null | undefined
      if (!document) continue
      const { id, request, namespace } = document
      if (listFilters.some((name) => wanted.get(name) && wanted.get(name) !== request[name])) continue
      const shown = { id, request, 'release-name': request['release-name'] ?? '', namespace: namespace ?? '' }
      yield separator + JSON.stringify(shown)
      separator = ','
    }
  }
  yield ']'
}

async function statusOf(readers: Readers, instanceId: string, query: URLSearchParams): Promise<unknown> {
  const { key } = await requireInstance(readers, instanceId)
  const { request } = (await readers.documents([key])).get(key) as InstanceDocument
  const { readiness: counts } = await readers.resourceCounts(key, {})
  const readiness = await readers.readiness(key)
  const resources: Resource[] = []
  for await (const page of readers.resources(key, 1_000)) resources.push(...page)
  const details = await readers.details(resources.map((resource) => resource.key))
  const isAsked = (resource: Resource): boolean =>
    (['kind', 'name', 'namespace'] as const).every((field) => !query.has(field) || query.get(field) === resource[field])
  return {
    request,
    ready: readiness === 'READY',
    resourceCount: resources.length,
    resourcesStatus: resources.filter(isAsked).map((resource) => ({
      name: resource.name,
      GVK: { Group: resource.group, Version: resource.version, Kind: resource.kind },
      status: details.get(resource.key)?.detail ?? {},
      readiness: resource.readiness,
      reason: resource.reason,
    })),
    summary: { readiness, counts },
  }
}

async function requireInstance(readers: Readers, instanceId: string): Promise<Instance> {
  const instance = await readers.instance(instanceId)
  // This API hides a deleted instance. Its history remains in GraphQL.
  if (instance && instance.reportedState !== 'REMOVED' && (await readers.isBundle(instance))) return instance
  throw new DomainError('NOT_FOUND', `there is no instance ${instanceId}`)
}
