/** A cluster, and watchers of it with the limits of a test; all tests of a file share a road. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { LifecycleState } from '../../src/domain/orchestration/lifecycle.ts'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../src/domain/rollout.ts'
import { type Clusters, type ClustersOptions, createClusters } from '../../src/ingest/clusters/clusters.ts'
import { recordActions } from '../../src/ingest/commands/lifecycle-actions.ts'
import { createLog } from '../../src/platform/log/log.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { instanceById } from '../../src/store/read/orchestration/instances.ts'
import { listResources } from '../../src/store/read/orchestration/resources.ts'
import { targetByName } from '../../src/store/read/targets/targets.ts'
import { type Store, stores } from '../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../support/servers/road.ts'
import { newContext, shownDeployment } from '../support/systems/emco.ts'
import { type Kubernetes, startKubernetes } from '../support/systems/kubernetes.ts'

export interface Watched {
  readonly road: Road
  readonly cluster: Kubernetes
  /** The status context of an instance that is known. */
  readonly context: string
  readonly logged: readonly Record<string, unknown>[]
  readonly verdicts: readonly { readonly verdict: string; readonly count: number }[]
  watch(options?: Partial<ClustersOptions>): Clusters
  /** What the cluster has of an app, of that instance unless another context is given: these Deployments. */
  put(app: string, names: readonly string[], context?: string): void
  remove(app: string, context?: string): void
  /** `State` or `State context`, one after the other, of a rollout: that of `context` if none is named. */
  act(actions: readonly (LifecycleState | `${LifecycleState} ${string}`)[], rollout?: string): Promise<void>
  /** Makes an instance of that context known. */
  instantiate(context: string): Promise<void>
  /** `app/name presence` of an instance's resources. */
  shown(context?: string): Promise<string[]>
  connectivity(): Promise<string | undefined>
  /** What was said of the cluster's connectivity. */
  connections(): Promise<string[]>
  /** `app presence`, of resources of the cluster. */
  told(): Promise<string[]>
}

type Closing = (close: () => Promise<void>) => void

/** A road on each of the stores for all tests of the file; `open` begins a cluster on one, which ends with its test. */
export function useWatched(on: readonly Store[] = stores) {
  const roads = new Map<Store, Road>()
  const closing: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).toReversed()) await end()
  }
  beforeAll(async () => {
    for (const store of on) roads.set(store, await createEmptyRoad(store))
  })
  afterAll(async () => {
    for (const road of roads.values()) await road.close()
  })
  afterEach(close)

  function open(store: Store | undefined = on[0]): Promise<Watched> {
    const road = store && roads.get(store)
    if (!road) throw new Error('there is no store to test on')
    return openWatched(road, (end) => void closing.push(end))
  }
  return { open, close }
}

/** When the stream is there, and everything that was listed has been taken. */
export const isWatching = (cluster: Kubernetes) => expect.poll(() => cluster.watching).toBe(1)

async function openWatched(road: Road, closing: Closing): Promise<Watched> {
  const cluster = await startKubernetes(closing)
  const context = newContext()
  const name = `edge-${context}`
  const logged: Record<string, unknown>[] = []
  const log = createLog({ level: 'debug', to: { write: (line: string) => void logged.push(JSON.parse(line)) } })
  const verdicts: { verdict: string; count: number }[] = []
  const { session } = road.database
  const changes = async () => (await readLog(session, 0, 1_000_000)).filter(({ targetName }) => targetName === name)
  const act: Watched['act'] = async (actions, rollout = context) => {
    const facts = actions.map((action) => {
      const [state, instanceId = null] = action.split(' ') as [LifecycleState, string?]
      return { state, instanceId, at: null, timestamp: null, compositeProfile: null }
    })
    const group = deploymentIntentGroup('p', 'ca', 'v1', rollout) as LifecycleRolloutName
    await road.writer.submit(recordActions(group, facts, 'an operator'))
  }
  const instantiate = (of: string) => act(['CREATED', 'APPROVED', `INSTANTIATED ${of}`], of)
  await instantiate(context)
  return {
    road,
    cluster,
    context,
    logged,
    verdicts,
    watch(options = {}) {
      const clusters = createClusters({
        watched: [{ provider: 'p', name, context: 'edge' }],
        kubeconfig: [cluster.kubeconfig],
        database: road.database,
        writer: road.writer,
        hub: road.feed.hub,
        log,
        clock: Date.now,
        observe: ({ verdict, count }) => void verdicts.push({ verdict, count }),
        interval: 50,
        backOff: { first: 5, longest: 20 },
        retryInterval: 5,
        ...options,
      })
      closing(() => clusters.stop())
      return clusters
    },
    put: (app, names, of = context) => cluster.put(`${app}-${of}`, `${of}-${app}`, showing(...names)),
    remove: (app, of = context) => cluster.remove(`${app}-${of}`),
    act,
    instantiate,
    async shown(of = context) {
      const instance = await instanceById(session, of, null)
      if (!instance) return []
      const rows = (await Array.fromAsync(listResources(session, instance.key, {}, 1_000))).flat()
      return rows.map((row) => `${row.component}/${row.name} ${row.presence}`)
    },
    connectivity: async () => (await targetByName(session, 'CLUSTER', 'p', name))?.connectivity,
    connections: async () =>
      (await changes()).flatMap((change) => (change.kind === 'CONNECTIVITY_CHANGED' ? [change.to] : [])),
    told: async () =>
      (await changes()).flatMap((change) =>
        change.kind === 'RESOURCE_STATUS_CHANGED' ? [`${change.component} ${change.toPresence}`] : [],
      ),
  }
}

/** The status of a ResourceBundleState that shows these Deployments. */
export function showing(...names: readonly string[]): object {
  return { ready: false, resourceCount: 0, deploymentStatuses: names.map((name) => shownDeployment(name)) }
}

export function waitingIn(clusters: Clusters): number {
  return clusters.states().reduce((sum, { waiting }) => sum + waiting, 0)
}
