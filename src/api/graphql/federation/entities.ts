/**
 * Apollo Federation 2: this server as a subgraph. Whatever has a node ID is an entity, and a device is one by its device ID, too: other
 * subgraphs know that one. A gateway forwards the credential of its caller, and `_entities` is a query like the others.
 *
 * `@pothos/plugin-federation` was rejected: it needs `@apollo/subgraph`, and both need graphql 16.
 */
import { valueFromASTUntyped } from 'graphql'
import { DomainError } from '../../../domain/errors.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { maxRepresentations } from '../guards/page-size.ts'
import { ApiKey } from '../objects/api-access.ts'
import { type NodeObject, typeNameOf } from '../objects/interfaces.ts'
import { findNode, typeOfId } from '../objects/node-query.ts'
import {
  Alert,
  Cluster,
  Component,
  Deployment,
  Device,
  Resource,
  Rollout,
  RolloutInstance,
  Site,
} from '../objects/refs.ts'
import { Report } from '../objects/report.ts'
import { Delivery, Sink } from '../objects/sink.ts'
import { subgraphSdl } from './subgraph-sdl.ts'

const entities = [
  ...[Alert, ApiKey, Cluster, Component, Delivery, Deployment, Device, Report, Resource, Rollout, RolloutInstance],
  ...[Sink, Site],
]
const names: ReadonlySet<unknown> = new Set(entities.map(({ name }) => name))

builder.scalarType('_Any', {
  specifiedByURL: 'https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec',
  description:
    'A reference to an entity: its `__typename`, and its `id` or, for a device, its `deviceId`. Apollo Federation defines it.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
})

const Entity = builder.unionType('_Entity', {
  description: 'What other subgraphs can refer to. Apollo Federation defines it.',
  types: entities,
  resolveType: typeNameOf,
})

const Service = builder.objectRef<object>('_Service').implement({
  access: 'viewer',
  description: 'This server as a subgraph. Apollo Federation defines it.',
  fields: (t) => ({
    sdl: t.string({
      description: 'The schema with the directives of Apollo Federation 2. Refused where introspection is disabled.',
      resolve: (_, __, ___, { schema }) => subgraphSdl(schema),
    }),
  }),
})

builder.queryFields((t) => ({
  _service: t.field({
    access: 'viewer',
    type: Service,
    description: 'For composing a supergraph.',
    resolve: () => ({}),
  }),
  _entities: t.field({
    access: 'viewer',
    type: [Entity],
    nullable: { list: false, items: true },
    description: `For a gateway: the objects that the representations refer to, in the same order. Null for one without an object. At most ${maxRepresentations} representations.`,
    args: {
      representations: t.arg({ type: ['_Any'], required: true, description: 'References to entities.' }),
    },
    resolve: (_, { representations }, context) => {
      const { length } = representations
      if (length <= maxRepresentations) return representations.map((one, index) => findEntity(context, one, index))
      const most = `at most ${maxRepresentations} are allowed`
      throw new DomainError('BAD_USER_INPUT', `representations has ${length} elements; ${most}`)
    },
  }),
}))

/** The loaders of the reader collect the keys of all representations: one statement for each type. */
async function findEntity(context: Context, representation: unknown, index: number): Promise<NodeObject | null> {
  const invalid = (field: string, what: string): DomainError =>
    new DomainError('BAD_USER_INPUT', `representations[${index}]${field} must be ${what}`)
  if (typeof representation !== 'object' || representation === null) throw invalid('', 'an object')
  const { __typename: type, id, deviceId } = representation as Readonly<Record<string, unknown>>
  if (!names.has(type)) throw invalid('.__typename', `one of ${[...names].join(', ')}`)
  if (type === 'Device' && id === undefined) {
    if (typeof deviceId !== 'string') throw invalid('', 'with an id or a deviceId, a string')
    return (await (await context.reader()).deviceNamed(deviceId)) ?? null
  }
  if (typeof id === 'string' && typeOfId(id) === type) return findNode(context, id)
  throw invalid('.id', `the id of an object of the type ${type}, as this server returned it`)
}
