/** EMCO's two resources with a status (docs/wire.md §2.1), and the routes that report their facts. */
import type { Lifecycle } from '../../../domain/orchestration/lifecycle.ts'
import { clusterIntents, deploymentIntentGroup, type RolloutName } from '../../../domain/rollout.ts'
import { refusal, shown } from '../../../platform/body/problems.ts'
import { type Route, readIds, type Segments } from '../router.ts'

export type EmcoRollout = RolloutName & { readonly kind: Lifecycle }

/** A cluster as EMCO names it: `provider+name`. */
export interface ClusterName {
  readonly kind: 'CLUSTER'
  readonly provider: string
  readonly name: string
}

export type EmcoRoute = { readonly rollout: EmcoRollout } & (
  | { readonly of: 'status' }
  | { readonly of: 'actions' }
  | { readonly of: 'resources'; readonly contextId: string }
  | { readonly of: 'bundle'; readonly cluster: ClusterName }
  | { readonly of: 'connectivity'; readonly cluster: ClusterName }
)

const group =
  '/v2/projects/:project/composite-apps/:composite-app/:version/deployment-intent-groups/:deployment-intent-group'
const cluster = '/v2/cluster-providers/:cluster-provider/clusters/:cluster'

export const emcoRoutes: readonly Route<EmcoRoute>[] = [
  ...routesOf(group, groupOf),
  ...routesOf(cluster, (segments) => intentsOf(clusterOf(segments))),
  {
    template: `${cluster}/connectivity`,
    read(segments) {
      const place = clusterOf(segments)
      return { rollout: intentsOf(place), of: 'connectivity', cluster: place }
    },
  },
]

function routesOf(at: string, rolloutOf: (segments: Segments) => EmcoRollout): Route<EmcoRoute>[] {
  return [
    { template: `${at}/status`, read: (segments) => ({ rollout: rolloutOf(segments), of: 'status' }) },
    { template: `${at}/actions`, read: (segments) => ({ rollout: rolloutOf(segments), of: 'actions' }) },
    {
      template: `${at}/instances/:contextId/resources`,
      read({ contextId = '', ...segments }) {
        return { rollout: rolloutOf(segments), of: 'resources', ...readIds({ contextId }) }
      },
    },
    {
      template: `${at}/resource-bundle-states/:place`,
      read({ place = '', ...segments }) {
        const rollout = rolloutOf(segments)
        const cluster = parseCluster(readIds({ cluster: place }).cluster)
        if (!cluster) throw refusal([{ field: 'cluster', message: 'must be provider+name' }], 'The path')
        return { rollout, of: 'bundle', cluster }
      },
    },
  ]
}

function groupOf(segments: Segments): EmcoRollout {
  const { project = '', version = '', ...ids } = readIds(segments)
  const rollout = deploymentIntentGroup(
    project,
    ids['composite-app'] ?? '',
    version,
    ids['deployment-intent-group'] ?? '',
  )
  return rollout as EmcoRollout
}

function clusterOf(segments: Segments): ClusterName {
  const { 'cluster-provider': provider = '', cluster: name = '' } = readIds(segments)
  if (provider.includes('+'))
    throw refusal([{ field: 'cluster-provider', message: `must not contain +, but is ${shown(provider)}` }], 'The path')
  return { kind: 'CLUSTER', provider, name }
}

function intentsOf({ provider, name }: ClusterName): EmcoRollout {
  return clusterIntents(provider, name) as EmcoRollout
}

/** Null: it is not `provider+name`. */
export function parseCluster(text: string): ClusterName | null {
  const cut = text.indexOf('+')
  if (cut < 1 || cut === text.length - 1) return null
  return { kind: 'CLUSTER', provider: text.slice(0, cut), name: text.slice(cut + 1) }
}
