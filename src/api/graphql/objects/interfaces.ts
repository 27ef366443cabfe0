/** Interfaces that types in several files share. */
import type { AlertRow } from '../../../store/alerts/alerts.ts'
import type { ApiKeyRow } from '../../../store/read/api-access.ts'
import type { DeploymentRow } from '../../../store/read/deployments.ts'
import type { InstanceRow } from '../../../store/read/orchestration/instances.ts'
import type { ResourceRow } from '../../../store/read/orchestration/resources.ts'
import type { RolloutRow } from '../../../store/read/rollouts/rollouts.ts'
import type { Delivery as DeliveryRow } from '../../../store/sinks/deliveries.ts'
import type { Sink as SinkRow } from '../../../store/sinks/sinks.ts'
import type { ReportRow } from '../../../store/sql/rows.ts'
import { builder } from '../builder.ts'
import type { TargetNode } from '../execution/loaders/targets.ts'
import { encodeNodeId, type NodeType } from './node.ts'
import type { ComponentNode } from './refs.ts'

export type NodeObject =
  | AlertRow
  | DeploymentRow
  | ComponentNode
  | RolloutRow
  | InstanceRow
  | ResourceRow
  | TargetNode
  | ReportRow
  | SinkRow
  | DeliveryRow
  | ApiKeyRow

export const Node = builder.interfaceRef<NodeObject>('Node').implement({
  access: 'viewer',
  description: 'An object that can be fetched by its ID alone.',
  resolveType: typeNameOf,
  fields: (t) => ({
    id: t.id({
      description: 'An opaque ID that never changes. An object as of a past revision has its own ID.',
      resolve: (node) => idOf(node),
    }),
  }),
})

export function idOf(node: NodeObject): string {
  // The ID of an API key is random, so it needs no type.
  if ('createdBy' in node) return node.id
  const type = nodeType(node)
  if ('eventId' in node || 'nextAt' in node) return encodeNodeId(type, node.key, null)
  if ('deployment' in node) return encodeNodeId(type, node.deployment.key, node.deployment.asOf, node.name)
  if ('verdict' in node) return encodeNodeId(type, node.deploymentKey, null, String(node.key))
  return encodeNodeId(type, node.key, node.asOf)
}

export function typeNameOf(node: NodeObject): NodeType | 'ApiKey' {
  return 'createdBy' in node ? 'ApiKey' : nodeType(node)
}

/** The types of targets. */
export const targetTypes = { DEVICE: 'Device', CLUSTER: 'Cluster', CLOUD_REGION: 'Cluster', SITE: 'Site' } as const

function nodeType(node: Exclude<NodeObject, ApiKeyRow>): NodeType {
  if ('eventId' in node) return 'Delivery'
  if ('nextAt' in node) return 'Sink'
  if ('deployment' in node) return 'Component'
  if ('verdict' in node) return 'Report'
  if ('deploymentId' in node) return 'Deployment'
  if ('raisedRevision' in node) return 'Alert'
  if ('presence' in node) return 'Resource'
  if ('statusContext' in node) return 'RolloutInstance'
  if ('connectivity' in node) return targetTypes[node.kind]
  return 'Rollout'
}
