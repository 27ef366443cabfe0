/** All clusters of the configuration. The replica that holds the lease of a cluster watches it. */
import { verdicts } from '../../domain/report.ts'
import type { TargetName } from '../../domain/target.ts'
import type { Millis } from '../../domain/values.ts'
import type { Hub } from '../../feed/hub.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Database } from '../../store/database.ts'
import { createRenewal } from '../../store/lease-renewal.ts'
import type { Writer } from '../writer.ts'
import { type ApiServerLimits, createApiServer } from './api-server.ts'
import { type ClusterTuning, type ClusterWatch, watchCluster } from './cluster-watch.ts'
import { loadKubeconfig } from './kubeconfig.ts'

/** The result of a custom resource that a cluster showed. */
export const snapshotVerdicts = [...verdicts, 'REFUSED', 'DROPPED'] as const

export interface ShownResults {
  readonly cluster: string
  readonly verdict: (typeof snapshotVerdicts)[number]
  readonly count: number
}

/** One cluster that this process watches. */
export interface ClusterState {
  readonly cluster: string
  /** Consecutive failures. */
  readonly failures: number
  /** Custom resources whose instance is unknown. */
  readonly waiting: number
}

export interface ClustersConfig {
  /** `context` null: the kubeconfig's current one. */
  readonly watched: readonly { readonly provider: string; readonly name: string; readonly context: string | null }[]
  /** Null: the files that kubectl uses, or the service account of the pod. */
  readonly kubeconfig: readonly string[] | null
}

export interface Clusters {
  /** The clusters whose lease this replica holds. */
  states(): ClusterState[]
  stop(): Promise<void>
}

export interface ClustersOptions extends ClustersConfig, ClusterTuning {
  readonly database: Database
  readonly writer: Writer
  readonly hub: Hub
  readonly log: Log
  readonly observe?: (shown: ShownResults) => void
  readonly clock: () => Millis
  /** Milliseconds between renewals; a lease lasts six of them. */
  readonly interval?: number
  readonly server?: ApiServerLimits
}

/** Characters of all pending objects, for all clusters together. */
const mostWaiting = 256 * 1024 * 1024

export function createClusters(options: ClustersOptions): Clusters {
  const { watched, kubeconfig, database, hub, log, observe, clock, interval = 5_000 } = options
  if (watched.length === 0) return { states: () => [], stop: async () => {} }
  const clusters = new Map(watched.map((one) => [`cluster:${one.provider}+${one.name}`, one]))
  const held = new Map<string, ClusterWatch>()
  let isStopped = false

  async function watchHeld(names: ReadonlySet<string>): Promise<void> {
    await leave([...held.keys()].filter((name) => !names.has(name)))
    if (!isStopped) for (const name of names) if (!held.has(name)) begin(name)
  }

  function begin(name: string): void {
    const found = clusters.get(name)
    if (!found) return
    const target: TargetName = { kind: 'CLUSTER', provider: found.provider, name: found.name }
    const api = createApiServer(() => loadKubeconfig(kubeconfig, found.context), options.server)
    const shown: NonNullable<typeof observe> = observe ?? (() => {})
    const cluster = nameOf(found)
    const watch = watchCluster({
      ...options,
      waiting: { heaviest: Math.min(64 * 1024 * 1024, mostWaiting / watched.length), ...options.waiting },
      api,
      target,
      clock,
      observe: (verdict, count) => shown({ cluster, verdict, count }),
    })
    held.set(name, watch)
  }

  async function leave(names: readonly string[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        await held.get(name)?.stop()
        held.delete(name)
      }),
    )
  }

  const instanceCreated = (instanceId: string): void => {
    for (const watch of held.values()) watch.instanceCreated(instanceId)
  }
  const unsubscribe = hub.subscribe({
    topics: ['all'],
    changed(changes) {
      for (const change of changes)
        if (change.kind === 'LIFECYCLE_ACTION_RECORDED' && change.actionInstanceId !== null)
          instanceCreated(change.actionInstanceId)
    },
    // Objects of instances that were missed are retried periodically.
    interrupted: () => {},
  })
  const renewal = createRenewal({
    database,
    interval,
    clock,
    renew: ({ hold }) => hold([...clusters.keys()]),
    held: watchHeld,
    failed: (error) => log.warn({ error }, 'the leases of clusters were not renewed: trying again'),
  })

  return {
    states: () =>
      [...held].flatMap(([name, { state }]) => {
        const found = clusters.get(name)
        return found ? [{ cluster: nameOf(found), ...state }] : []
      }),
    async stop() {
      isStopped = true
      unsubscribe()
      await renewal.stop()
      await leave([...held.keys()])
      await renewal.leases
        .release([...clusters.keys()])
        .catch((error: unknown) => log.debug({ error }, 'the leases of clusters were not released'))
    },
  }
}

function nameOf({ provider, name }: { readonly provider: string; readonly name: string }): string {
  return `${provider}+${name}`
}
