/** Composed with the subgraph of another team, and asked through the planner of Hive Gateway. Both tools take our version of graphql. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getStitchedSchemaFromSupergraphSdl } from '@graphql-tools/federation'
import { assertCompositionSuccess, composeServices } from '@theguild/federation-composition'
import { execute, type GraphQLSchema, parse, validate } from 'graphql'
import { createSchema, createYoga } from 'graphql-yoga'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

/** Who owns which device. It knows devices by the IDs that reports use, and has a PageInfo of its own. */
const typeDefs = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"])
  type Query { plants: PlantConnection! }
  type PlantConnection { nodes: [Plant!]! pageInfo: PageInfo! }
  type Plant { name: String! devices: [Device!]! }
  type PageInfo @shareable { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
  type Device @key(fields: "deviceId") { deviceId: String! serialNumber: String! }
`
const plants = [
  { name: 'Munich', devices: [{ deviceId: 'edge-1' }, { deviceId: 'edge-2' }] },
  { name: 'Oslo', devices: [{ deviceId: 'edge-3' }] },
]

/** What a subgraph library adds to a schema. */
const served = `
  ${typeDefs
    .replace(/extend schema.*/, '')
    .replaceAll(/@key\(.*?\)|@shareable/g, '')
    .replace('plants:', '_entities(representations: [_Any!]!): [_Entity]! plants:')}
  scalar _Any
  union _Entity = Device
`

function createPlants() {
  const pageInfo = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null }
  return createYoga({
    graphiql: false,
    logging: false,
    schema: createSchema({
      typeDefs: served,
      resolvers: {
        Query: {
          plants: () => ({ nodes: plants, pageInfo }),
          _entities: (_, { representations }: { readonly representations: readonly object[] }) => representations,
        },
        Device: { serialNumber: ({ deviceId }: { readonly deviceId: string }) => `SN-${deviceId}` },
        _Entity: { __resolveType: () => 'Device' },
      },
    }),
  })
}

describe('through a gateway', () => {
  let api: Api
  let supergraph: GraphQLSchema
  const other = createServer(createPlants())

  beforeAll(async () => {
    api = await startApi({ graphql: { auth: namedAuth } })
    for (const n of [1, 2, 3])
      await api.report({
        ...{ reporter: `edge-${n}`, deviceId: `edge-${n}`, deploymentId: `d-${n}`, state: 'INSTALLED' },
      })
    await api.ask(
      'mutation { registerDevices(input: { devices: [{ deviceId: "edge-2", labels: [{ key: "site", value: "a" }] }] }) { __typename } }',
    )
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/graphql`
    const { _service } = await api.ask('{ _service { sdl } }')
    const composed = composeServices([
      { name: 'rollcall', url: api.url, typeDefs: parse(_service.sdl) },
      { name: 'plants', url, typeDefs: parse(typeDefs) },
    ])
    assertCompositionSuccess(composed)
    supergraph = getStitchedSchemaFromSupergraphSdl({
      supergraphSdl: composed.supergraphSdl,
      httpExecutorOpts: {
        // As a gateway does that forwards the credential of its caller.
        headers: (request) => {
          const { as } = (request?.context ?? {}) as { readonly as?: string }
          return as === undefined ? {} : { authorization: `Bearer ${as}` }
        },
      },
    })
  })
  afterAll(async () => {
    await new Promise((resolve) => other.close(resolve))
    await api.close()
  })

  async function ask(query: string, as?: string) {
    const document = parse(query)
    expect(validate(supergraph, document)).toEqual([])
    const result = await execute({ schema: supergraph, document, contextValue: { as } })
    return JSON.parse(JSON.stringify(result))
  }

  const ofPlants = `{ plants { pageInfo { hasNextPage } nodes { name devices {
    deviceId serialNumber connectivity deploymentCounts { total installed } deployments(first: 5) { nodes { deploymentId state } }
  } } } }`

  it('a device of another subgraph has its deployments, asked for all at once', async () => {
    api.statements()
    const { data, errors } = await ask(ofPlants)
    expect(errors).toBeUndefined()
    const statements = api.statements()
    expect(data.plants.nodes).toMatchObject([
      {
        name: 'Munich',
        devices: [
          { deviceId: 'edge-1', serialNumber: 'SN-edge-1', deploymentCounts: { total: 1, installed: 1 } },
          { deviceId: 'edge-2', deployments: { nodes: [{ deploymentId: 'd-2', state: 'INSTALLED' }] } },
        ],
      },
      { name: 'Oslo', devices: [{ deviceId: 'edge-3', serialNumber: 'SN-edge-3' }] },
    ])
    expect(statements).toBeLessThanOrEqual(4)
  })

  it('a device of ours has the fields of another subgraph', async () => {
    const { data, errors } = await ask(
      '{ revision devices(first: 2) { pageInfo { hasNextPage } nodes { deviceId serialNumber } } deployment(deploymentId: "d-3") { id device { serialNumber } } }',
    )
    expect(errors).toBeUndefined()
    expect(data).toMatchObject({
      devices: {
        pageInfo: { hasNextPage: true },
        nodes: [
          { deviceId: 'edge-1', serialNumber: 'SN-edge-1' },
          { deviceId: 'edge-2', serialNumber: 'SN-edge-2' },
        ],
      },
      deployment: { device: { serialNumber: 'SN-edge-3' } },
    })
  })

  it('the caller has the rights of its own credential', async () => {
    const counts =
      '{ plants { nodes { devices { deviceId } } } deploymentCounts { total } devices { nodes { deviceId serialNumber } } }'
    const { data } = await ask(counts, 'viewer/label:site=a')
    expect(data).toMatchObject({ deploymentCounts: { total: 1 }, devices: { nodes: [{ serialNumber: 'SN-edge-2' }] } })
    const refused = await ask('{ apiKeys { name } }', 'viewer')
    expect(refused.errors).toMatchObject([{ message: expect.stringMatching(/^Query\.apiKeys needs the role admin/) }])
    const stranger = await ask('{ revision }', 'stranger')
    expect(stranger.errors).toMatchObject([{ message: 'stranger' }])
  })
})
