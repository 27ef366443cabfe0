/** The interfaces that types of several files share. */
import type { DeploymentRow } from '../store/deployments.ts'
import type { InstanceRow } from '../store/instances.ts'
import type { ResourceRow } from '../store/resources.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import type { ComponentNode } from './component.ts'
import type { TargetNode } from './loaders.ts'
import { encodeNodeId, type NodeType } from './node.ts'

export type NodeObject = DeploymentRow | ComponentNode | RolloutRow | InstanceRow | ResourceRow | TargetNode

export const Node = builder.interfaceRef<NodeObject>('Node').implement({
  access: 'viewer',
  description: 'Whatever can be asked for by its id alone.',
  resolveType: nodeType,
  fields: (t) => ({
    id: t.id({
      description: 'Opaque, and good for ever. Objects of the past have ids of their own.',
      resolve: (node) => idOf(node),
    }),
  }),
})

export function idOf(node: NodeObject): string {
  const type = nodeType(node)
  if ('deployment' in node) return encodeNodeId(type, node.deployment.key, node.deployment.asOf, node.name)
  return encodeNodeId(type, node.key, node.asOf)
}

function nodeType(node: NodeObject): NodeType {
  if ('deployment' in node) return 'Component'
  if ('deploymentId' in node) return 'Deployment'
  if ('presence' in node) return 'Resource'
  if ('statusContext' in node) return 'RolloutInstance'
  if ('connectivity' in node) return node.kind === 'DEVICE' ? 'Device' : 'Cluster'
  return 'Rollout'
}
