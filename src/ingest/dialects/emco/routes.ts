/** EMCO's two resources with a status (docs/wire.md §2.1), and the routes that report their facts. */
import { clusterIntents, deploymentIntentGroup, type LifecycleRolloutName } from '../../../domain/rollout.ts'
import { type ClusterName, parseCluster } from '../../../domain/target.ts'
import { refusal, shown } from '../../../platform/body/problems.ts'
import { type Route, readIds, type Segments } from '../router.ts'

export type EmcoRoute = { readonly rollout: LifecycleRolloutName } & (
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
  ...routesOf('group', group, groupOf),
  ...routesOf('cluster', cluster, (segments) => intentsOf(clusterOf(segments))),
  {
    template: `${cluster}/connectivity`,
    read(segments) {
      const place = clusterOf(segments)
      return { rollout: intentsOf(place), of: 'connectivity', cluster: place }
    },
  },
]

function routesOf(of: string, at: string, rolloutOf: (segments: Segments) => LifecycleRolloutName): Route<EmcoRoute>[] {
  const copy = { prefix: '', of }
  return [
    { template: `${at}/status`, copy, read: (segments) => ({ rollout: rolloutOf(segments), of: 'status' }) },
    { template: `${at}/actions`, copy, read: (segments) => ({ rollout: rolloutOf(segments), of: 'actions' }) },
    {
      template: `${at}/instances/:contextId/resources`,
      copy,
      read({ contextId = '', ...segments }) {
        return { rollout: rolloutOf(segments), of: 'resources', ...readIds({ contextId }) }
      },
    },
    {
      template: `${at}/resource-bundle-states/:place`,
      copy,
      read({ place = '', ...segments }) {
        const rollout = rolloutOf(segments)
        const cluster = parseCluster(readIds({ cluster: place }).cluster)
        if (!cluster) throw refusal([{ field: 'cluster', message: 'must be provider+name' }], 'The path')
        return { rollout, of: 'bundle', cluster }
      },
    },
  ]
}

function groupOf(segments: Segments): LifecycleRolloutName {
  const { project = '', version = '', ...ids } = readIds(segments)
  const rollout = deploymentIntentGroup(
    project,
    ids['composite-app'] ?? '',
    version,
    ids['deployment-intent-group'] ?? '',
  )
  return rollout as LifecycleRolloutName
}

function clusterOf(segments: Segments): ClusterName {
  const { 'cluster-provider': provider = '', cluster: name = '' } = readIds(segments)
  if (provider.includes('+'))
    throw refusal([{ field: 'cluster-provider', message: `must not contain +, but is ${shown(provider)}` }], 'The path')
  return { kind: 'CLUSTER', provider, name }
}

function intentsOf({ provider, name }: ClusterName): LifecycleRolloutName {
  return clusterIntents(provider, name) as LifecycleRolloutName
}
