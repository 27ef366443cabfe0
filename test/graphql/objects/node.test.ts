import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeNodeId, encodeNodeId } from '../../../src/api/graphql/objects/node.ts'
import { createSink } from '../../../src/store/sinks/sinks.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const number = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })

describe('a node id', () => {
  it('decodes to the values that were encoded', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('Deployment', 'Rollout', 'Device', 'Cluster'),
        number,
        fc.option(number),
        (type, key, asOf) => {
          expect(decodeNodeId(encodeNodeId(type, key, asOf))).toEqual({ type, key, asOf, name: null })
        },
      ),
    )
    const name = fc.string({ unit: 'grapheme' })
    fc.assert(
      fc.property(number, fc.option(number), name, (key, asOf, part) => {
        expect(decodeNodeId(encodeNodeId('Component', key, asOf, part))).toEqual({
          type: 'Component',
          key,
          asOf,
          name: part,
        })
      }),
    )
  })

  it.each([
    '',
    'garbage',
    '💥',
    Buffer.from('Deployment').toString('base64url'),
    Buffer.from('Deployment:').toString('base64url'),
    Buffer.from('Deployment:-1').toString('base64url'),
    Buffer.from('Deployment:01').toString('base64url'),
    Buffer.from('Deployment:1:name').toString('base64url'),
    Buffer.from('Component:1').toString('base64url'),
    Buffer.from('Query:1').toString('base64url'),
    Buffer.from('Deployment:99999999999999999999').toString('base64url'),
    `${encodeNodeId('Deployment', 1, null)}=`,
    ` ${encodeNodeId('Deployment', 1, null)}`,
  ])('is not %j', (id) => {
    expect(decodeNodeId(id)).toBeNull()
  })
})

describe('node and nodes', () => {
  let api: Api
  let all: readonly { readonly id: string; readonly __typename: string }[]

  beforeAll(async () => {
    api = await startApi()
    await api.report({ deploymentId: 'd-1', components: [{ name: 'a:b@1', state: 'PENDING', error: null }] })
    const { deployment } = await api.ask(`{ deployment(deploymentId: "d-1") {
      __typename id components { __typename id } rollout { __typename id } device { __typename id }
    } }`)
    all = [deployment, ...deployment.components, deployment.rollout, deployment.device]
  })
  afterAll(() => api.close())

  it('return the object with the ID', async () => {
    const ids = all.map(({ id }) => id)
    const { nodes } = await api.ask(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Deployment { deploymentId } ... on Component { name } } }`,
      { ids },
    )
    expect(nodes).toMatchObject([
      { __typename: 'Deployment', id: ids[0], deploymentId: 'd-1' },
      { __typename: 'Component', id: ids[1], name: 'a:b@1' },
      { __typename: 'Rollout', id: ids[2] },
      { __typename: 'Device', id: ids[3] },
    ])
    for (const { id, __typename } of all)
      expect(await api.ask('query ($id: ID!) { node(id: $id) { __typename id } }', { id })).toEqual({
        node: { __typename, id },
      })
  })

  it('are null for an ID without an object, at its index', async () => {
    const [deployment] = all
    const unknown = [
      'garbage',
      encodeNodeId('Deployment', 999_999, null),
      encodeNodeId('Rollout', 999_999, null),
      encodeNodeId('Device', 999_999, null),
      // A device ID with type Cluster, and a component that does not exist.
      encodeNodeId('Cluster', decodeNodeId(all[3]?.id ?? '')?.key ?? 0, null),
      encodeNodeId('Component', decodeNodeId(deployment?.id ?? '')?.key ?? 0, null, 'none'),
    ]
    const { nodes } = await api.ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      ids: [...unknown, deployment?.id],
    })
    expect(nodes).toEqual([...unknown.map(() => null), { id: deployment?.id }])
    expect(await api.ask('{ node(id: "garbage") { id } rollout(id: "garbage") { id } }')).toEqual({
      node: null,
      rollout: null,
    })
  })

  it('report HISTORY_EXPIRED for an expired past ID, and return the others', async () => {
    const [deployment] = all
    const expired = encodeNodeId('Deployment', decodeNodeId(deployment?.id ?? '')?.key ?? 0, 1)
    const { data, errors } = await api.query('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      ids: [expired, deployment?.id],
    })
    expect(data.nodes).toEqual([null, { id: deployment?.id }])
    expect(errors).toMatchObject([{ path: ['nodes', 0], extensions: { code: 'HISTORY_EXPIRED' } }])
  })
})

describe('node for what administrators manage', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ graphql: { auth: namedAuth } })
  })
  afterAll(() => api.close())

  it('returns it to callers that may see it, and null to all others', async () => {
    const { createApiKey } = await api.ask(
      'mutation { createApiKey(input: { name: "k", roles: [VIEWER] }) { ... on CreateApiKeySuccess { apiKey { id } } } }',
      {},
      'admin',
    )
    const target = { kind: 'WEBHOOK', name: 'w', instanceKey: null, url: 'https://hook.example', secret: null } as const
    const { key } = await api.road.database.transaction((session) =>
      createSink(session, { ...target, filter: {}, settings: {}, cursor: 0 }, Date.now()),
    )
    const ids = [createApiKey.apiKey.id, encodeNodeId('Sink', key, null)]
    const shown = async (as: string) =>
      (await api.ask('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids }, as)).nodes
    const [apiKey, sink] = [
      { __typename: 'ApiKey', id: ids[0] },
      { __typename: 'Sink', id: ids[1] },
    ]
    expect(await shown('admin')).toEqual([apiKey, sink])
    expect(await shown('operator')).toEqual([null, sink])
    for (const as of ['viewer', 'operator/project:x', 'admin/label:site=a'])
      expect([as, await shown(as)]).toEqual([as, [null, null]])
  })
})
