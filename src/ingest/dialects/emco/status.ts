/**
 * EMCO's two status queries (docs/wire.md §2.1). An answer is sent in parts, so the memory is bounded for an instance of any size.
 */
import { DomainError } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/orchestration/instance.ts'
import type { ListedResource, ResourceCounts } from '../../../domain/orchestration/resource.ts'
import { kindInWords, type LifecycleRolloutName, type Rollout } from '../../../domain/rollout.ts'
import type { Named, Showing } from '../dialect.ts'
import type { Readers, ResourceQuery } from '../readers.ts'
import { type Counts, clusterHead, headOf, instanceList, listKeys, resourceRow, statusHead } from './answer.ts'
import { parseStatusQuery, type StatusQuery } from './query.ts'

/** Resources in one page of a read. */
const step = 1_000
/** Resources whose objects are read together. */
const together = 50

export function showStatus(name: LifecycleRolloutName): Named<Showing> {
  return {
    operation: 'showStatus',
    does: 'show',
    access: 'viewer of all',
    show(search) {
      const query = parseStatusQuery(search)
      return async (readers) => {
        const rollout = await readers.rollout(name)
        if (!rollout) throw new DomainError('NOT_FOUND', `there is no ${kindInWords(name)}`)
        const instances = await readers.instances(rollout.key)
        if (query.list === 'instances') {
          const ids = instances.map(({ instanceId }) => instanceId)
          return { json: instanceList(query, rollout, ids) }
        }
        const instance = pickInstance(instances, query)
        if (query.list) return { json: await composeList(readers, query, rollout, instance) }
        return { parts: composeStatus(readers, query, rollout, instance) }
      }
    },
  }
}

function pickInstance(instances: readonly Instance[], { instance: wanted }: StatusQuery): Instance | null {
  if (wanted === null) return instances.at(-1) ?? null
  const found = instances.find(({ instanceId }) => instanceId === wanted)
  if (!found) throw new DomainError('NOT_FOUND', `there is no instance ${wanted}`)
  return found
}

async function* composeStatus(
  readers: Readers,
  query: StatusQuery,
  rollout: Rollout,
  instance: Instance | null,
): AsyncGenerator<string> {
  const actions = await readers.actions(rollout.key)
  const counts = instance ? await countsOf(readers, query, instance.key) : {}
  const head = JSON.stringify(statusHead(query, { rollout, actions, instance }, counts))
  if (query.output === 'summary') return yield head
  yield `${head.slice(0, -1)},"apps":[`
  let before: ListedResource | null = null
  for await (const row of rowsOf(readers, query, instance)) {
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
  readers: Readers,
  query: StatusQuery,
  rollout: Rollout,
  instance: Instance | null,
): Promise<object> {
  const head = headOf(query, rollout)
  const keys = listKeys(query)
  const apps = new Map<string, Map<string, ListedResource[]>>()
  for await (const row of rowsOf(readers, query, instance)) {
    const clusters = apps.get(row.component) ?? new Map<string, ListedResource[]>()
    apps.set(row.component, clusters)
    const cluster = `${row.provider}+${row.target}`
    const rows = clusters.get(cluster)
    if (!rows) clusters.set(cluster, [row])
    else if (query.list === 'resources') rows.push(row)
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
  readers: Readers,
  query: StatusQuery,
  instance: Instance | null,
): AsyncGenerator<ListedResource> {
  if (!instance) return
  const isObserved = query.of === 'cluster' || query.of === 'ready'
  const detail = query.output === 'detail' && !query.list ? (isObserved ? 'detail' : 'appliedDetail') : null
  for await (const rows of readers.listedResources(instance.key, filterOf(query), step)) {
    if (detail === null) yield* rows
    else
      for (let at = 0; at < rows.length; at += together) {
        const some = rows.slice(at, at + together)
        const details = await readers.details(some.map(({ key }) => key))
        yield* some.map((row) => ({ ...row, detail: details.get(row.key)?.[detail] ?? null }))
      }
  }
}

/** The resources that a query selects. `rsync`: those that the orchestrator applied. `cluster`: those that are present. */
function filterOf({ of, apps, clusters, resources, list }: StatusQuery): ResourceQuery {
  return {
    ...(apps && { apps }),
    ...(clusters && { clusters }),
    ...(resources && { names: resources }),
    ...((of === 'rsync' || of === 'deployed') && { isApplied: true }),
    ...(of === 'cluster' && { presence: ['PRESENT'] as const }),
    ...(of === 'ready' && !list && { isShowable: true }),
  }
}

async function countsOf(readers: Readers, query: StatusQuery, instanceKey: number): Promise<Counts> {
  const filtered = filterOf(query)
  const count = (filter: ResourceQuery): Promise<ResourceCounts> => readers.resourceCounts(instanceKey, filter)
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
