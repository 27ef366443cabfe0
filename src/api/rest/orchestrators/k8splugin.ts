/** The instance API of ONAP's k8splugin (docs/wire.md §3): routes that receive facts, and responses in the plugin's format. */

import { DomainError } from '../../../domain/errors.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../../ingest/commands/bundle-instance.ts'
import { parseInstance } from '../../../ingest/dialects/k8splugin/instance.ts'
import type { K8spluginRoute } from '../../../ingest/dialects/k8splugin/routes.ts'
import { parseInstanceStatus, roomForStatus } from '../../../ingest/dialects/k8splugin/status.ts'
import type { Writer } from '../../../ingest/writer.ts'
import { paced } from '../../../platform/limits/pace.ts'
import type { Database, Snapshot } from '../../../store/database.ts'
import { withScope } from '../../../store/read/access-scope.ts'
import { documentsOf } from '../../../store/read/orchestration/documents.ts'
import { bundleInstances, type InstanceRow, instanceById } from '../../../store/read/orchestration/instances.ts'
import {
  countResources,
  detailsOf,
  type ResourceRow,
  resourcePages,
  sumOfReadiness,
} from '../../../store/read/orchestration/resources.ts'
import { rolloutsByKey } from '../../../store/read/rollouts/rollouts.ts'
import { type Exchange, type Methods, type Route, sendJson, singleParameters, tracedBy } from '../exchange.ts'
import { createStreamedJson } from '../streamed-json.ts'
import { type SnapshotDeps, withSnapshot } from '../with-snapshot.ts'
import { readLargeJson } from './large-json.ts'
import { type SubscriptionDeps, subscriptionMethods } from './subscriptions.ts'

export interface K8spluginDeps extends SubscriptionDeps, SnapshotDeps {
  readonly writer: Writer
  readonly database: Database
}

/** Bytes. A body has whole objects. Helm stores a compressed release in one object of at most 1.5 MiB. */
const bodyLimit = 8 << 20
/** Documents of a list that are read together. */
const together = 8

export function k8spluginMethods(deps: K8spluginDeps, route: K8spluginRoute): Methods {
  switch (route.of) {
    case 'instances':
      return {
        GET: {
          access: 'viewer',
          handle(exchange, principal) {
            const send = createStreamedJson(exchange)
            const wanted = singleParameters(exchange.request.url)
            return withSnapshot(deps, exchange.request, principal, (snapshot) =>
              send(listInstances(withScope(snapshot, principal.accessScope), wanted)),
            )
          },
        },
      }
    case 'instance': {
      const { instanceId } = route
      return {
        GET: read(deps, (snapshot) => showInstance(snapshot, instanceId)),
        PUT: { access: 'reporter of all', handle: (exchange) => takeInstance(deps, exchange, instanceId) },
        DELETE: { access: 'reporter of all', handle: (exchange) => endInstance(deps, exchange, instanceId) },
      }
    }
    case 'status': {
      const { instanceId } = route
      return {
        GET: read(deps, (snapshot, { request }) => showStatus(snapshot, instanceId, singleParameters(request.url))),
        PUT: { access: 'reporter of all', handle: (exchange) => takeStatus(deps, exchange, instanceId) },
      }
    }
    default:
      return subscriptionMethods(deps, route)
  }
}

async function takeInstance({ writer }: K8spluginDeps, exchange: Exchange, instanceId: string): Promise<void> {
  const fact = parseInstance(await readLargeJson(exchange, {}, bodyLimit), instanceId)
  const { verdict, revision, isNew } = await writer.submit(tracedBy(exchange, reportInstance(fact)))
  sendJson(exchange, isNew ? 201 : 200, { id: instanceId, verdict, revision: String(revision) })
}

async function endInstance({ writer }: K8spluginDeps, exchange: Exchange, instanceId: string): Promise<void> {
  const { verdict, revision } = await writer.submit(tracedBy(exchange, removeInstance(instanceId)))
  sendJson(exchange, 200, { id: instanceId, verdict, revision: String(revision) })
}

/** Responds with one verdict for the snapshot, and a refusal for each unreadable object. */
async function takeStatus({ writer, database }: K8spluginDeps, exchange: Exchange, instanceId: string): Promise<void> {
  const body = await readLargeJson(exchange, roomForStatus, bodyLimit)
  const items = await paced(parseInstanceStatus(body, await namespaceOf(database, instanceId)))
  const objects = items.flatMap((item) => (item.ok ? [item.object] : []))
  const { verdict, revision } = await writer.submit(tracedBy(exchange, reportInstanceStatus(instanceId, objects)))
  const results = items.map((item) => (item.ok ? { verdict } : { verdict: 'REFUSED', errors: item.problems }))
  sendJson(exchange, 200, { id: instanceId, verdict, revision: String(revision), results })
}

async function namespaceOf(database: Database, instanceId: string): Promise<string | null> {
  const instance = await instanceById(database.session, instanceId, null)
  const document = instance && (await documentsOf(database.session, [instance.key])).get(instance.key)
  const { namespace } = (document ?? {}) as { readonly namespace?: unknown }
  return typeof namespace === 'string' && namespace !== '' ? namespace : null
}

/** A route that reads what the scope of the viewer allows. */
function read(deps: K8spluginDeps, compose: (snapshot: Snapshot, exchange: Exchange) => Promise<unknown>): Route {
  return {
    access: 'viewer',
    async handle(exchange, principal) {
      const composed = await withSnapshot(deps, exchange.request, principal, (snapshot) =>
        compose(withScope(snapshot, principal.accessScope), exchange),
      )
      sendJson(exchange, 200, composed)
    },
  }
}

interface InstanceDocument {
  readonly id: string
  readonly request: Readonly<Record<string, unknown>>
  readonly namespace?: string
}

/** As in k8splugin: an absent or empty one selects all. */
const listFilters = ['rb-name', 'rb-version', 'profile-name'] as const

/** A document has up to the size of a body, of which the list shows a part. */
async function* listInstances(snapshot: Snapshot, wanted: URLSearchParams): AsyncGenerator<string> {
  const instances = await bundleInstances(snapshot)
  let separator = ''
  yield '['
  for (let from = 0; from < instances.length; from += together) {
    const keys = instances.slice(from, from + together).map(({ key }) => key)
    const documents = await documentsOf(snapshot, keys)
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

async function showInstance(snapshot: Snapshot, instanceId: string): Promise<unknown> {
  const { key } = await requireInstance(snapshot, instanceId)
  return (await documentsOf(snapshot, [key])).get(key)
}

/** `query`: kind, name and namespace filter the list, as the self links of the inventory do. */
async function showStatus(snapshot: Snapshot, instanceId: string, query: URLSearchParams): Promise<unknown> {
  const { key } = await requireInstance(snapshot, instanceId)
  const scope = { of: 'instance', keys: [key] } as const
  const [documents, counts, sums, resources] = [
    await documentsOf(snapshot, [key]),
    await countResources(snapshot, scope, {}, null),
    await sumOfReadiness(snapshot, scope, null),
    await allResources(snapshot, key),
  ]
  const details = await detailsOf(
    snapshot,
    resources.map((resource) => resource.key),
  )
  const { request } = documents.get(key) as InstanceDocument
  const isAsked = (resource: ResourceRow): boolean =>
    (['kind', 'name', 'namespace'] as const).every((field) => !query.has(field) || query.get(field) === resource[field])
  const readiness = sums.get(key) ?? 'UNKNOWN'
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
    summary: { readiness, counts: counts.get(key)?.readiness },
  }
}

async function allResources(snapshot: Snapshot, instanceKey: number): Promise<ResourceRow[]> {
  const found: ResourceRow[] = []
  for await (const page of resourcePages(snapshot, instanceKey, {}, 1_000)) found.push(...page)
  return found
}

async function requireInstance(snapshot: Snapshot, instanceId: string): Promise<InstanceRow> {
  const instance = await instanceById(snapshot, instanceId, null)
  const rollout = instance && (await rolloutsByKey(snapshot, [instance.rolloutKey], null)).get(instance.rolloutKey)
  // This API hides a deleted instance. Its history remains in GraphQL.
  if (instance && rollout?.kind === 'RESOURCE_BUNDLE' && instance.reportedState !== 'REMOVED') return instance
  throw new DomainError('NOT_FOUND', `there is no instance ${instanceId}`)
}
