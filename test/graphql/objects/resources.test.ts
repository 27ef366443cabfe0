import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
const counts = 'resourceCounts { total sync { applied } presence { present notPresent } readiness { ready pending } }'

describe.each(stores)('resources in GraphQL on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  const put = async (path: string, body: object) => {
    const response = await fetch(`${server.url}/v1/instance/${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.ok).toBe(true)
    await response.arrayBuffer()
  }
  const object = (name: string, ready: number) => ({
    name,
    GVK,
    status: {
      kind: 'Deployment',
      metadata: { name },
      spec: { replicas: 1 },
      status: { replicas: 1, updatedReplicas: 1, readyReplicas: ready, availableReplicas: ready },
    },
  })

  it('have equal counts at every level, and keep their past states', async () => {
    await put('i', {
      request: { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': 'p', 'cloud-region': 'r' },
      resources: [
        { GVK, Name: 'a' },
        { GVK, Name: 'b' },
      ],
    })
    await put('i/status', { resourcesStatus: [object('a', 1), object('b', 0)] })
    const { revision } = await server.query('{ revision }')
    const ask = (more = '') =>
      server.query(`{
      ${counts}
      deployment(deploymentId: "i") {
        readiness ${counts}
        components { name readiness ${counts} resources { nodes { name } } }
        instance { id instanceId status readiness ${counts} }
        rollout { readiness ${counts} instances { instanceId } instance { instanceId } deployments { totalCount } }
        resources(filter: { readiness: [READY] }) { totalCount nodes { id name ${more} } }
      }
    }`)
    const answer = await ask('detail detailTruncated appliedDetail')
    const levels = ({ resourceCounts, deployment: d }: Awaited<ReturnType<typeof ask>>) => [
      resourceCounts,
      d.resourceCounts,
      d.components[0].resourceCounts,
      d.instance.resourceCounts,
      d.rollout.resourceCounts,
    ]
    for (const level of levels(answer))
      expect(level).toEqual({
        total: 2,
        sync: { applied: 2 },
        presence: { present: 2, notPresent: 0 },
        readiness: { ready: 1, pending: 1 },
      })
    expect(answer.deployment).toMatchObject({
      readiness: 'PENDING',
      components: [{ name: 'rb', readiness: 'PENDING' }],
      instance: { instanceId: 'i', status: 'INSTANTIATED', readiness: 'PENDING' },
      rollout: { readiness: 'PENDING', deployments: { totalCount: 1 } },
      resources: {
        totalCount: 1,
        nodes: [{ name: 'a', detail: object('a', 1).status, detailTruncated: false, appliedDetail: null }],
      },
    })
    await put('i/status', { resourcesStatus: [object('a', 1)] })
    const then = await server.query(
      `query ($at: Revision!) { deployment(deploymentId: "i", atRevision: $at) { readiness ${counts} resources { nodes { id name presence readiness } } rollout { readiness ${counts} } } }`,
      { at: revision },
    )
    expect(then.deployment).toMatchObject({
      readiness: 'PENDING',
      resourceCounts: { presence: { present: 2 } },
      resources: {
        nodes: [
          { name: 'a', presence: 'PRESENT' },
          { name: 'b', presence: 'PRESENT' },
        ],
      },
      rollout: { resourceCounts: { presence: { present: 2 } } },
    })
    const fleet = (args: string) =>
      server.query(
        `{ resources(orderBy: { field: NAME, direction: DESC }, ${args}) { totalCount nodes { name } }
          resourceCounts(${args}) { total revision presence { present } } }`,
      )
    expect(await fleet(`atRevision: "${revision}"`)).toEqual({
      resources: { totalCount: 2, nodes: [{ name: 'b' }, { name: 'a' }] },
      resourceCounts: { total: 2, revision, presence: { present: 2 } },
    })
    expect(await fleet('filter: { where: { not: { reasons: ["NotPresent"] }, text: "A" } }')).toMatchObject({
      resources: { totalCount: 1, nodes: [{ name: 'a' }] },
      resourceCounts: { total: 1, presence: { present: 1 } },
    })
    const { nodes } = then.deployment.resources
    const found = await server.query('query ($id: ID!) { node(id: $id) { ... on Resource { name presence } } }', {
      id: nodes[1].id,
    })
    expect(found.node).toEqual({ name: 'b', presence: 'PRESENT' })
    await expect(
      server.query('query ($id: ID!) { node(id: $id) { ... on Resource { detail } } }', { id: nodes[1].id }),
    ).rejects.toThrow('are not retained')
    const { changes } =
      await server.query(`{ changes(filter: { kinds: [RESOURCE_STATUS_CHANGED, INSTANCE_STATUS_CHANGED] }) { nodes { kind
      ... on ResourceStatusChanged { resource { name } fromPresence toPresence toReadiness reason }
      ... on InstanceStatusChanged { instance { instanceId } fromStatus toStatus } } } }`)
    expect(changes.nodes.at(-1)).toEqual({
      kind: 'RESOURCE_STATUS_CHANGED',
      resource: { name: 'b' },
      fromPresence: 'PRESENT',
      toPresence: 'NOT_PRESENT',
      toReadiness: 'PENDING',
      reason: 'NotPresent',
    })
  })
})
