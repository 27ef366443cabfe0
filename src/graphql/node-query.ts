import { DomainError } from '../domain/errors.ts'
import { builder } from './builder.ts'
import { Node, type NodeObject } from './interfaces.ts'
import type { Reader } from './loaders.ts'
import { decodeNodeId } from './node.ts'
import { maxPageSize } from './page-size.ts'

builder.queryFields((t) => ({
  node: t.field({
    access: 'viewer',
    type: Node,
    nullable: true,
    description: 'Whatever has this id; null when nothing does.',
    args: { id: t.arg.id({ required: true, description: 'A node id.' }) },
    resolve: async (_, { id }, context) => findNode(await context.reader(), id),
  }),
  nodes: t.field({
    access: 'viewer',
    type: [Node],
    nullable: { list: false, items: true },
    description: 'Whatever has these ids, in their order; null for an id that nothing has. At most 100.',
    args: { ids: t.arg.idList({ required: true, description: 'Node ids.' }) },
    resolve: async (_, { ids }, context) => {
      if (ids.length > maxPageSize)
        throw new DomainError('BAD_USER_INPUT', `ids has ${ids.length} elements; at most ${maxPageSize} are allowed`)
      const reader = await context.reader()
      return ids.map((id) => findNode(reader, id))
    },
  }),
}))

async function findNode(reader: Reader, id: string): Promise<NodeObject | null> {
  const decoded = decodeNodeId(id)
  if (!decoded) return null
  const { type, key, name } = decoded
  const asOf = decoded.asOf === null ? null : await reader.past(null, decoded.asOf)
  switch (type) {
    case 'Deployment':
      return (await reader.deployment(key, asOf)) ?? null
    case 'Component': {
      const deployment = await reader.deployment(key, asOf)
      const component = deployment?.components.find((part) => part.name === name)
      return deployment && component ? { ...component, deployment } : null
    }
    case 'Resource':
      return (await reader.resource(key, asOf)) ?? null
    case 'RolloutInstance':
      return (await reader.instance(key, asOf)) ?? null
    case 'Rollout':
      return (await reader.rollout(key, asOf)) ?? null
    case 'Device':
    case 'Cluster': {
      const target = await reader.target(key, asOf)
      return target && (target.kind === 'DEVICE') === (type === 'Device') ? target : null
    }
    default: {
      const unknown: never = type
      return unknown
    }
  }
}
