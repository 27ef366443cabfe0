/** What a gateway asks of a subgraph of Apollo Federation 2, without a gateway. gateway.test.ts composes and asks through one. */
import { type GraphQLObjectType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../../src/api/graphql/schema.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const document = `query ($representations: [_Any!]!) {
  revision
  _entities(representations: $representations) {
    __typename
    ... on Deployment { id deploymentId state }
    ... on Device { id deviceId connectivity }
    ... on Rollout { id name }
    ... on Component { id name }
  }
}`

describe('the entities of a subgraph', () => {
  let api: Api
  let deployment: { id: string; rollout: { id: string }; device: { id: string }; components: { id: string }[] }

  beforeAll(async () => {
    api = await startApi({ graphql: { auth: namedAuth } })
    for (const n of [1, 2, 3])
      await api.report({
        ...{ reporter: `edge-${n}`, deviceId: `edge-${n}`, deploymentId: `d-${n}` },
        ...{ state: 'INSTALLING', components: [{ name: 'web', state: 'PENDING', error: null }] },
      })
    const found = await api.ask(
      '{ deployment(deploymentId: "d-1") { id rollout { id } device { id } components { id } } }',
    )
    deployment = found.deployment
  })
  afterAll(() => api.close())

  const ask = (representations: unknown, as?: string) => api.query(document, { representations }, as)

  it('are all types that have an ID, and no other', async () => {
    const nodes = Object.values(schema.getTypeMap()).filter(
      (type): type is GraphQLObjectType =>
        isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node'),
    )
    const names = nodes.map(({ name }) => name).toSorted()
    expect(
      schema
        .getPossibleTypes(schema.getType('_Entity') as never)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(names)
    const { _service } = await api.ask('{ _service { sdl } }')
    const keyed = [..._service.sdl.matchAll(/^type (\w+) [^{]*@key\(fields: "id"\)/gm)].map(([, name]) => name)
    expect(keyed.toSorted()).toEqual(names)
    expect(_service.sdl).toMatch(/^type Device .*@key\(fields: "id"\) @key\(fields: "deviceId"\) \{$/m)
    expect(_service.sdl).toMatch(/^type PageInfo @shareable \{$/m)
    expect(_service.sdl).not.toMatch(/_Any|_Entity|_entities|_service/i)
  })

  it('come in the order of the representations, by id or deviceId, null for what does not exist', async () => {
    const { data, errors } = await ask([
      { __typename: 'Device', deviceId: 'edge-2' },
      { __typename: 'Rollout', id: deployment.rollout.id },
      { __typename: 'Device', deviceId: 'unknown' },
      { __typename: 'Device', deviceId: 'a\0' },
      { __typename: 'Device', id: deployment.device.id },
      { __typename: 'Deployment', id: Buffer.from('Deployment:999999').toString('base64url') },
      { __typename: 'Component', id: deployment.components[0]?.id },
      { __typename: 'Deployment', id: deployment.id },
    ])
    expect(errors).toBeUndefined()
    expect(data._entities).toMatchObject([
      { __typename: 'Device', deviceId: 'edge-2' },
      { __typename: 'Rollout', id: deployment.rollout.id },
      null,
      null,
      { __typename: 'Device', deviceId: 'edge-1' },
      null,
      { __typename: 'Component', name: 'web' },
      { __typename: 'Deployment', deploymentId: 'd-1', state: 'INSTALLING' },
    ])
  })

  it('are given in the document as well', async () => {
    const text =
      '{ _entities(representations: [{ __typename: "Device", deviceId: "edge-3" }]) { ... on Device { deviceId } } }'
    expect(await api.ask(text)).toEqual({ _entities: [{ deviceId: 'edge-3' }] })
  })

  it('cost one statement for each type and key, for any number of them', async () => {
    const { deployments } = await api.ask('{ deployments { nodes { id device { id } } } }')
    const of = (count: number) =>
      deployments.nodes.slice(0, count).flatMap(({ id, device }: { id: string; device: { id: string } }, n: number) => [
        { __typename: 'Deployment', id },
        { __typename: 'Device', id: device.id },
        { __typename: 'Device', deviceId: `edge-${n + 1}` },
      ])
    const statements = async (count: number) => {
      api.statements()
      expect((await ask(of(count))).errors).toBeUndefined()
      return api.statements()
    }
    const one = await statements(1)
    expect([await statements(3), one]).toEqual([one, 3])
  })

  it('are those of the past where the ID is', async () => {
    const { revision } = await api.ask('{ revision }')
    const text = '{ deployment(deploymentId: "d-2", atRevision: "REVISION") { id state } }'.replace(
      'REVISION',
      revision,
    )
    const before = await api.ask(text)
    await api.report({ reporter: 'edge-2', deviceId: 'edge-2', deploymentId: 'd-2', state: 'FAILED', components: [] })
    const { data } = await ask([{ __typename: 'Deployment', id: before.deployment.id }])
    expect(data._entities).toMatchObject([before.deployment])
    expect(before.deployment.state).toBe('INSTALLING')
  })

  it('are seen by callers that may see them, as in any other query', async () => {
    await api.ask(
      'mutation { registerDevices(input: { devices: [{ deviceId: "edge-3", labels: [{ key: "site", value: "a" }] }] }) { __typename } }',
    )
    const devices = ['edge-2', 'edge-3'].map((deviceId) => ({ __typename: 'Device', deviceId }))
    const shown = async (as: string) => (await ask(devices, as)).data._entities.map((one: unknown) => one !== null)
    expect(await shown('viewer')).toEqual([true, true])
    expect(await shown('viewer/label:site=a')).toEqual([false, true])
    const keys =
      '{ _entities(representations: [{ __typename: "ApiKey", id: "abcdefghijkl" }]) { ... on ApiKey { name } } }'
    const { errors } = await api.query(keys, {}, 'viewer')
    expect(errors).toMatchObject([
      { message: 'ApiKey.name needs the role admin without a narrower scope', extensions: { code: 'FORBIDDEN' } },
    ])
  })

  it.each<[unknown, string]>([
    ['x', 'representations[0] must be an object'],
    [null, 'Variable "$representations"'],
    [{ deviceId: 'edge-1' }, 'representations[0].__typename must be one of Alert, ApiKey, Cluster, '],
    [{ __typename: 'PageInfo' }, 'representations[0].__typename must be one of '],
    [{ __typename: '__proto__', id: 'x' }, 'representations[0].__typename must be one of '],
    [{ __typename: 'Device' }, 'representations[0] must be with an id or a deviceId'],
    [{ __typename: 'Device', deviceId: 7 }, 'representations[0] must be with an id or a deviceId'],
    [{ __typename: 'Deployment' }, 'representations[0].id must be the id of an object of the type Deployment'],
    [{ __typename: 'Deployment', id: 'x' }, 'representations[0].id must be the id of an object of the type Deployment'],
    [{ __typename: 'Rollout', id: ['x'] }, 'representations[0].id must be the id of an object of the type Rollout'],
  ])('are not %j', async (representation, message) => {
    const { errors } = await ask([representation])
    expect(errors?.[0]?.extensions?.code).toBe('BAD_USER_INPUT')
    expect(errors?.[0]?.message).toContain(message)
  })

  it('do not take the ID of another type, and leave the others as they are', async () => {
    const { data, errors } = await ask([
      { __typename: 'Device', id: deployment.id },
      { __typename: 'Device', deviceId: 'edge-1' },
    ])
    expect(data._entities).toMatchObject([null, { deviceId: 'edge-1' }])
    expect(errors).toMatchObject([
      { path: ['_entities', 0], message: expect.stringContaining('representations[0].id') },
    ])
  })

  it('are limited in number and in cost, before anything is read', async () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ __typename: 'Device', deviceId: 'edge-1' }))
    const { data } = await ask(many(1_000))
    expect(data._entities).toHaveLength(1_000)
    api.statements()
    const { errors } = await ask(many(1_001))
    expect(errors).toMatchObject([{ message: 'representations has 1001 elements; at most 1000 are allowed' }])
    const costly = `query ($representations: [_Any!]!) { _entities(representations: $representations) {
      ... on Device { deployments(first: 100) { nodes { id state deploymentId reporter consistent } } } } }`
    const refused = await api.query(costly, { representations: many(1_000) })
    expect(refused.errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'cost' } }])
    expect(api.statements()).toBe(0)
  })

  it('are all refused where too many representations are wrong', async () => {
    const wrong = Array.from({ length: 101 }, () => ({ __typename: 'Nothing' }))
    const { data, errors } = await ask(wrong)
    expect(data).toBeNull()
    expect(errors).toMatchObject([{ extensions: { limit: 'errors' } }])
  })
})

describe('where introspection is disabled', () => {
  it('the schema is hidden from composition, too, and entities are served', async () => {
    const api = await startApi({ graphql: { introspection: false, graphiql: false } })
    await api.report({ deploymentId: 'd-1' })
    for (const text of [
      '{ _service { sdl } }',
      '{ _service { a: sdl ...F } } fragment F on _Service { __typename b: sdl }',
    ])
      expect((await api.query(text)).errors?.[0]?.message).toMatch(/^_service\.sdl is hidden/)
    const { data } = await api.query(document, { representations: [{ __typename: 'Device', deviceId: 'edge-1' }] })
    expect(data._entities).toMatchObject([{ deviceId: 'edge-1' }])
    await api.close()
  })
})
