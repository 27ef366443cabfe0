/** EMCO: the routes that receive its facts, and its two status queries (docs/wire.md §2, §2.1). */

import {
  actionsOf as actionsAnswer,
  type Counts,
  clusterHead,
  headOf,
  instanceList,
  listKeys,
  resourceRow,
  statusHead,
} from '../../dialects/emco/answer.ts'
import { parseBundleState, roomForBundleState } from '../../dialects/emco/bundle-state.ts'
import {
  mostItems,
  parseActions,
  parseConnectivity,
  parseResources,
  roomForResources,
} from '../../dialects/emco/feed.ts'
import { parseStatusQuery, type StatusQuery } from '../../dialects/emco/query.ts'
import type { ClusterName, EmcoRollout, EmcoRoute } from '../../dialects/emco/routes.ts'
import { parseLargeJson } from '../../dialects/margo/json.ts'
import type { Room } from '../../dialects/margo/json-reader.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Principal } from '../../domain/principal.ts'
import type { ListedResource } from '../../domain/resource.ts'
import { kindInWords, type RolloutName } from '../../domain/rollout.ts'
import { recordActions } from '../../ingest/commands/act.ts'
import { reportResources, reportStateSnapshot, setConnectivity } from '../../ingest/commands/resources.ts'
import type { Writer } from '../../ingest/writer.ts'
import { paced } from '../../limits/pace.ts'
import type { Database, Snapshot } from '../../store/database.ts'
import type { ResourceFilter } from '../../store/read/filters/resource-filter.ts'
import { actionsOf, type InstanceRow, instancesOf } from '../../store/read/instances.ts'
import { countResources, listResources } from '../../store/read/resources.ts'
import { type RolloutRow, rolloutByName } from '../../store/read/rollouts/rollouts.ts'
import { answer, type Exchange, type Methods, readBody, requireMediaType, tracedBy } from '../exchange.ts'
import { type ReadingDeps, reading } from '../reading.ts'

export interface EmcoDeps extends ReadingDeps {
  readonly writer: Writer
  readonly database: Database
}

/** Bytes of thousands of resources with their objects. */
const resourcesLimit = 16 << 20
/** Bytes. A ResourceBundleState is an object of a cluster, which takes none of more than 1.5 MiB. */
const bundleLimit = 4 << 20
/** Bytes of other bodies. */
const smallLimit = 1 << 20

/** Resources in one page of a read. */
const step = 1_000

export function emcoMethods(deps: EmcoDeps, route: EmcoRoute): Methods {
  const feed = (handle: (exchange: Exchange, principal: Principal) => Promise<void>) =>
    ({ access: 'reporter of all', handle }) as const
  const { rollout } = route
  switch (route.of) {
    case 'status':
      return {
        GET: {
          access: 'viewer of all',
          handle: (exchange, principal) => sendStatus(deps, exchange, principal, rollout),
        },
      }
    case 'actions':
      return { POST: feed((exchange, { name }) => takeActions(deps, exchange, rollout, name)) }
    case 'resources':
      return { POST: feed((exchange) => takeResources(deps, exchange, rollout, route.contextId)) }
    case 'bundle':
      return { PUT: feed((exchange) => takeBundle(deps, exchange, rollout, route.cluster)) }
    case 'connectivity':
      return { PUT: feed((exchange) => takeConnectivity(deps, exchange, route.cluster)) }
  }
}

async function takeActions(
  { writer, database }: EmcoDeps,
  exchange: Exchange,
  rollout: EmcoRollout,
  actor: string,
): Promise<void> {
  const facts = parseActions(await readJson(exchange, {}, smallLimit))
  const command = tracedBy(exchange, recordActions(rollout, facts, actor))
  const { rolloutKey, revision, recorded } = await writer.submit(command)
  const actions = (await actionsOf(database.session, [rolloutKey], null)).get(rolloutKey) ?? []
  sendJson(exchange, recorded > 0 ? 201 : 200, { ...actionsAnswer(actions), revision: String(revision) })
}

async function takeResources(
  { writer }: EmcoDeps,
  exchange: Exchange,
  rollout: EmcoRollout,
  contextId: string,
): Promise<void> {
  const own = rollout.kind === 'CLUSTER_INTENTS' ? clusterOf(rollout) : null
  const items = await paced(parseResources(await readJson(exchange, roomForResources, resourcesLimit), own))
  const facts = items.flatMap((item) => (item.ok ? [item.fact] : []))
  const { revision, verdicts } = await writer.submit(tracedBy(exchange, reportResources(rollout, contextId, facts)))
  const verdict = verdicts.values()
  const results = items.map((item) =>
    item.ok ? { verdict: verdict.next().value } : { verdict: 'REFUSED', errors: item.problems },
  )
  sendJson(exchange, 200, { revision: String(revision), results })
}

async function takeBundle(
  { writer }: EmcoDeps,
  exchange: Exchange,
  rollout: EmcoRollout,
  target: ClusterName,
): Promise<void> {
  const body = await readJson(exchange, roomForBundleState, bundleLimit)
  const { unreadable, ...state } = await paced(parseBundleState(body))
  const command = tracedBy(exchange, reportStateSnapshot(rollout, { ...state, target }))
  const { revision, verdict } = await writer.submit(command)
  sendJson(exchange, 200, {
    verdict,
    revision: String(revision),
    ...(unreadable.length > 0 && { errors: unreadable.slice(0, mostItems) }),
  })
}

async function takeConnectivity({ writer }: EmcoDeps, exchange: Exchange, target: ClusterName): Promise<void> {
  const connectivity = parseConnectivity(await readJson(exchange, {}, smallLimit))
  const { revision, verdict } = await writer.submit(tracedBy(exchange, setConnectivity(target, connectivity)))
  sendJson(exchange, 200, { verdict, revision: String(revision) })
}

function clusterOf({ provider, name }: RolloutName): ClusterName {
  return { kind: 'CLUSTER', provider: provider ?? '', name }
}

async function sendStatus(deps: EmcoDeps, exchange: Exchange, principal: Principal, name: EmcoRollout): Promise<void> {
  const [, search = ''] = (exchange.request.url ?? '').split('?')
  const query = parseStatusQuery(search)
  await reading(deps, exchange.request, principal, async (snapshot) => {
    const rollout = await rolloutByName(snapshot, name)
    if (!rollout) throw new DomainError('NOT_FOUND', `there is no ${kindInWords(name)}`)
    const instances = (await instancesOf(snapshot, [rollout.key], null)).get(rollout.key) ?? []
    if (query.list === 'instances') {
      const ids = instances.map(({ instanceId }) => instanceId)
      return sendJson(exchange, 200, instanceList(query, rollout, ids))
    }
    const instance = pickInstance(instances, query)
    if (query.list) return sendJson(exchange, 200, await composeList(snapshot, query, rollout, instance))
    await send(exchange, composeStatus(snapshot, query, rollout, instance))
  })
}

function pickInstance(instances: readonly InstanceRow[], { instance: wanted }: StatusQuery): InstanceRow | null {
  if (wanted === null) return instances.at(-1) ?? null
  const found = instances.find(({ instanceId }) => instanceId === wanted)
  if (!found) throw new DomainError('NOT_FOUND', `there is no instance ${wanted}`)
  return found
}

/** Yields the response in parts, so the memory is bounded for an instance of any size. */
async function* composeStatus(
  snapshot: Snapshot,
  query: StatusQuery,
  rollout: RolloutRow,
  instance: InstanceRow | null,
): AsyncGenerator<string> {
  const actions = (await actionsOf(snapshot, [rollout.key], null)).get(rollout.key) ?? []
  const counts = instance ? await countsOf(snapshot, query, instance.key) : {}
  const head = JSON.stringify(statusHead(query, { rollout, actions, instance }, counts))
  if (query.output === 'summary') return yield head
  yield `${head.slice(0, -1)},"apps":[`
  let before: ListedResource | null = null
  for await (const row of rowsOf(snapshot, query, instance)) {
    const isNewApp = before?.component !== row.component
    const isNewCluster = isNewApp || before?.target !== row.target || before.provider !== row.provider
    let text = ''
    if (before) text += isNewApp ? ']}]},' : isNewCluster ? ']},' : ','
    if (isNewApp) text += `{"name":${JSON.stringify(row.component)},"clusters":[`
    if (isNewCluster) text += `${JSON.stringify(clusterHead(query, row)).slice(0, -1)},"resources":[`
    yield text + JSON.stringify(resourceRow(query, row))
    before = row
  }
  yield before ? ']}]}]}' : ']}'
}

async function composeList(
  snapshot: Snapshot,
  query: StatusQuery,
  rollout: RolloutRow,
  instance: InstanceRow | null,
): Promise<object> {
  const head = headOf(query, rollout)
  const keys = listKeys(query)
  const apps = new Map<string, Map<string, ListedResource[]>>()
  for await (const row of rowsOf(snapshot, query, instance)) {
    const clusters = apps.get(row.component) ?? new Map<string, ListedResource[]>()
    apps.set(row.component, clusters)
    const cluster = `${row.provider}+${row.target}`
    clusters.set(cluster, [...(query.list === 'resources' ? (clusters.get(cluster) ?? []) : []), row])
  }
  if (query.list === 'apps') return { ...head, apps: [...apps.keys()] }
  const places = [...apps].map(([app, clusters]) => ({
    app,
    clusters: [...clusters.values()].flatMap(([row]) =>
      row ? [{ [keys.provider]: row.provider, cluster: row.target }] : [],
    ),
  }))
  if (query.list === 'clusters') return { ...head, [keys.clusters]: places }
  const lists = [...apps].flatMap(([app, clusters]) =>
    [...clusters.values()].map((rows) => ({
      app,
      [keys.provider]: rows[0]?.provider,
      cluster: rows[0]?.target,
      resources: rows.map(({ name, group: Group, version: Version, kind: Kind }) => ({
        name,
        GVK: { Group, Version, Kind },
      })),
    })),
  )
  return { ...head, [keys.resources]: lists }
}

async function* rowsOf(
  snapshot: Snapshot,
  query: StatusQuery,
  instance: InstanceRow | null,
): AsyncGenerator<ListedResource> {
  if (!instance) return
  const isObserved = query.of === 'cluster' || query.of === 'ready'
  const detail = query.output === 'detail' && !query.list ? (isObserved ? 'detail' : 'appliedDetail') : null
  // Detail rows contain whole objects, so a page has fewer of them.
  const limit = detail ? step / 10 : step
  for (let after: ListedResource | null = null; ; ) {
    const rows: ListedResource[] = await listResources(snapshot, instance.key, filterOf(query), {
      after,
      limit,
      detail,
    })
    yield* rows
    after = rows.at(-1) ?? null
    if (rows.length < limit || after === null) return
  }
}

/** The resources that a query selects. `rsync`: those that the orchestrator applied. `cluster`: those that are present. */
function filterOf({ of, apps, clusters, resources, list }: StatusQuery): ResourceFilter {
  return {
    ...(apps && { apps }),
    ...(clusters && { clusters }),
    ...(resources && { names: resources }),
    ...((of === 'rsync' || of === 'deployed') && { isApplied: true }),
    ...(of === 'cluster' && { presence: ['PRESENT'] as const }),
    ...(of === 'ready' && !list && { isShowable: true }),
  }
}

async function countsOf(snapshot: Snapshot, query: StatusQuery, instanceKey: number): Promise<Counts> {
  const filtered = filterOf(query)
  const count = async (filter: ResourceFilter) => {
    const found = (await countResources(snapshot, { of: 'instance', keys: [instanceKey] }, filter, null)).get(
      instanceKey,
    )
    if (!found) throw new Error('an instance was not counted')
    return found
  }
  if (query.of === 'cluster') {
    // Rows list present resources only. Counts cover all resources that match the filter.
    const { presence: _, ...filter } = filtered
    const { PRESENT, NOT_PRESENT, UNKNOWN } = (await count(filter)).presence
    return { Present: PRESENT, NotPresent: NOT_PRESENT, Unknown: UNKNOWN }
  }
  if (query.of === 'ready') {
    const NotPresent = (await count({ ...filtered, presence: ['NOT_PRESENT'] })).total
    const { READY, PENDING, FAILED, UNKNOWN } = (await count({ ...filtered, presence: ['PRESENT', 'UNKNOWN'] }))
      .readiness
    return { Ready: READY, NotReady: PENDING + FAILED + UNKNOWN, NotPresent }
  }
  const { APPLIED, PENDING, FAILED, RETRYING, DELETED } = (await count(filtered)).sync
  return { Applied: APPLIED, Pending: PENDING, Failed: FAILED, Retrying: RETRYING, Deleted: DELETED }
}

async function send({ response, method }: Exchange, parts: AsyncGenerator<string>): Promise<void> {
  let isBegun = false
  for await (const part of parts) {
    if (!isBegun) response.writeHead(200, { 'content-type': 'application/json' })
    isBegun = true
    if (method === 'HEAD') break
    if (!response.write(part) && !response.destroyed)
      await new Promise<void>((resolve) => {
        response.once('drain', resolve)
        response.once('close', resolve)
      })
    if (response.destroyed) return
  }
  response.end()
}

async function readJson(exchange: Exchange, room: Room, limit: number): Promise<unknown> {
  requireMediaType(exchange.request, ['application/json'])
  return parseLargeJson(await readBody(exchange, limit), room)
}

function sendJson(exchange: Exchange, status: number, body: unknown): void {
  answer(exchange, status, 'application/json', JSON.stringify(body))
}
