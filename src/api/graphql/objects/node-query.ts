import { DomainError } from '../../../domain/errors.ts'
import { may } from '../../../domain/principal.ts'
import type { TargetKind } from '../../../domain/target.ts'
import type { Revision } from '../../../domain/values.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import type { Reader } from '../execution/loaders/reader.ts'
import { maxPageSize } from '../guards/page-size.ts'
import { Node, type NodeObject } from './interfaces.ts'
import { decodeNodeId, type NodeType } from './node.ts'

builder.queryFields((t) => ({
  node: t.field({
    access: 'viewer',
    type: Node,
    nullable: true,
    description: 'The object with this ID. Null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'A node ID.' }) },
    resolve: async (_, { id }, context) => findNode(context, id),
  }),
  nodes: t.field({
    access: 'viewer',
    type: [Node],
    nullable: { list: false, items: true },
    description: 'The objects with these IDs, in the same order. Null for an ID without an object. At most 100 IDs.',
    args: { ids: t.arg.idList({ required: true, description: 'Node IDs.' }) },
    resolve: async (_, { ids }, context) => {
      if (ids.length > maxPageSize)
        throw new DomainError('BAD_USER_INPUT', `ids has ${ids.length} elements; at most ${maxPageSize} are allowed`)
      return ids.map((id) => findNode(context, id))
    },
  }),
}))

const apiKeyId = /^[\w-]{12}$/

/** Null: the server never issued this ID. */
export function typeOfId(id: string): NodeType | 'ApiKey' | null {
  return decodeNodeId(id)?.type ?? (apiKeyId.test(id) ? 'ApiKey' : null)
}

/** A caller that may not see an object gets null, as for an ID without an object. */
export async function findNode({ reader: open, principal }: Context, id: string): Promise<NodeObject | null> {
  const decoded = decodeNodeId(id)
  const reader = await open()
  if (!decoded) return apiKeyId.test(id) && may(principal, 'admin of all') ? ((await reader.apiKey(id)) ?? null) : null
  const { type, key, name } = decoded
  const asOf = decoded.asOf === null ? null : await reader.past(null, decoded.asOf)
  switch (type) {
    case 'Deployment':
      return (await reader.deployment(key, asOf)) ?? null
    case 'Component':
      return findComponent(reader, key, name, asOf)
    case 'Report': {
      const own = Number(name)
      return Number.isSafeInteger(own) ? ((await reader.report({ deploymentKey: key, key: own })) ?? null) : null
    }
    case 'Resource':
      return (await reader.resource(key, asOf)) ?? null
    case 'RolloutInstance':
      return (await reader.instance(key, asOf)) ?? null
    case 'Sink':
      return may(principal, 'operator of all') ? ((await reader.sink(key)) ?? null) : null
    case 'Delivery':
      return may(principal, 'operator of all') ? ((await reader.delivery(key)) ?? null) : null
    case 'Alert':
      return (await reader.alert(key, asOf)) ?? null
    case 'Rollout':
      return (await reader.rollout(key, asOf)) ?? null
    case 'Device':
      return findTarget(reader, key, 'DEVICE', asOf)
    case 'Cluster':
      return findTarget(reader, key, 'CLUSTER', asOf)
    case 'Site':
      return findTarget(reader, key, 'SITE', asOf)
    default: {
      const unknown: never = type
      return unknown
    }
  }
}

async function findComponent(
  reader: Reader,
  deploymentKey: number,
  name: string | null,
  asOf: Revision | null,
): Promise<NodeObject | null> {
  const deployment = await reader.deployment(deploymentKey, asOf)
  const components = deployment && (deployment.components ?? (await reader.components(deploymentKey, asOf)))
  const component = components?.find((part) => part.name === name)
  return deployment && component ? { ...component, deployment } : null
}

async function findTarget(
  reader: Reader,
  key: number,
  kind: TargetKind,
  asOf: Revision | null,
): Promise<NodeObject | null> {
  const target = await reader.target(key, asOf)
  return target?.kind === kind ? target : null
}
