import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

// biome-ignore lint/suspicious/noExplicitAny: what a test has written, it knows.
const fixture = (name: string): any =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../fixtures/k8splugin', `${name}.json`), 'utf8'))
const vault = { name: 'profile2-edgex-vault', GVK: { Group: 'apps', Version: 'v1beta2', Kind: 'Deployment' } }
const ui = { name: 'profile2-edgex-ui', GVK: { Group: '', Version: 'v1', Kind: 'Service' } }
const pod = { name: 'mongo-0', GVK: { Group: '', Version: 'v1', Kind: 'Pod' } }

describe.each(stores)("k8splugin's instance API on $name", (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}/v1/instance${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
    return { status: response.status, body: (await response.json()) as any }
  }

  it('finds a listed object in another namespace than that of the instance', async () => {
    const instance = {
      ...fixture('instance'),
      id: 'elsewhere',
      namespace: 'edge',
      resources: [{ GVK: vault.GVK, Name: vault.name }],
    }
    expect(await send('PUT', '/elsewhere', instance)).toMatchObject({ status: 201 })
    const whole = (namespace: string) => ({
      ...vault,
      status: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: vault.name, namespace }, ...ready },
    })
    const ready = { status: fixture('deployment-status') }
    const put = (...resourcesStatus: object[]) => send('PUT', '/elsewhere/status', { resourcesStatus })
    const shown = async () => {
      const { resources } = await server.query(
        '{ resources(filter: { names: ["profile2-edgex-vault"], instanceIds: ["elsewhere"] }) { nodes { namespace presence } } }',
      )
      return resources.nodes
    }
    expect((await put(whole('default'))).body.verdict).toBe('APPLIED')
    const found = [{ namespace: 'default', presence: 'PRESENT' }]
    expect(await shown()).toEqual(found)
    expect((await put(whole('default'))).body.verdict).toBe('UNCHANGED')
    // Neither a status without its object nor the list names the namespace.
    await put({ ...vault, status: ready.status })
    expect(await shown()).toEqual(found)
    expect((await send('PUT', '/elsewhere', instance)).body.verdict).toBe('UNCHANGED')
    expect(await shown()).toEqual(found)
    // Another object of that name is another resource.
    await put(whole('default'), whole('edge'))
    expect((await shown()).map(({ namespace }: { namespace: string }) => namespace).toSorted()).toEqual([
      'default',
      'edge',
    ])
  })

  it("takes the design's instance and its two status blocks unchanged, and they are READY", async () => {
    const instance = fixture('instance')
    expect(await send('PUT', '/fnKPvVAL', instance)).toMatchObject({ status: 201, body: { verdict: 'APPLIED' } })
    expect(await send('GET', '/fnKPvVAL')).toEqual({ status: 200, body: instance })
    expect(await send('GET', '/fnKPvVAL/status')).toMatchObject({ body: { ready: false, resourceCount: 2 } })
    const blocks = [
      { ...vault, status: fixture('deployment-status') },
      { ...pod, status: fixture('pod-status') },
    ]
    const service = {
      ...ui,
      status: { apiVersion: 'v1', kind: 'Service', metadata: { name: ui.name }, spec: { type: 'ClusterIP' } },
    }
    expect(await send('PUT', '/fnKPvVAL/status', { resourcesStatus: [...blocks, service] })).toMatchObject({
      status: 200,
      body: { verdict: 'APPLIED' },
    })
    const { body } = await send('GET', '/fnKPvVAL/status')
    expect(body).toMatchObject({
      request: instance.request,
      ready: true,
      resourceCount: 3,
      summary: { readiness: 'READY', counts: { READY: 3, PENDING: 0, FAILED: 0, UNKNOWN: 0 } },
    })
    expect(body.resourcesStatus).toEqual([
      { ...service, readiness: 'READY', reason: null },
      { ...blocks[0], readiness: 'READY', reason: null },
      { ...blocks[1], readiness: 'READY', reason: null },
    ])
    const again = await send('PUT', '/fnKPvVAL/status', { resourcesStatus: [...blocks, service] })
    expect(again.body.verdict).toBe('UNCHANGED')
    const { deployment } = await server.query(
      '{ deployment(deploymentId: "fnKPvVAL") { state readiness target { kind name } components { name state } rollout { kind name compositeApp compositeAppVersion } } }',
    )
    expect(deployment).toEqual({
      state: 'INSTALLED',
      readiness: 'READY',
      target: { kind: 'CLOUD_REGION', name: 'k8sregionone' },
      components: [{ name: 'edgex', state: 'INSTALLED' }],
      rollout: { kind: 'RESOURCE_BUNDLE', name: 'profile2', compositeApp: 'edgex', compositeAppVersion: 'v1' },
    })
  })

  it('lets one unreadable object spoil nothing', async () => {
    await send('PUT', '/odd', { ...fixture('instance'), id: 'odd' })
    const { status, body } = await send('PUT', '/odd/status', {
      resourcesStatus: [
        { ...vault, status: fixture('deployment-status') },
        { name: 'x' },
        { ...ui, status: 'nonsense' },
        7,
      ],
    })
    expect(status).toBe(200)
    expect(body.results.map(({ verdict }: { verdict: string }) => verdict)).toEqual([
      'APPLIED',
      'REFUSED',
      'APPLIED',
      'REFUSED',
    ])
    expect(body.results[1].errors[0].field).toBe('resourcesStatus[1].GVK')
    const answer = await send('GET', '/odd/status')
    expect(answer).toMatchObject({ status: 200, body: { ready: false, resourceCount: 2 } })
  })

  it('says what is wrong with an instance, field by field', async () => {
    const { status, body } = await send('PUT', '/wrong', {
      id: 'another',
      request: { 'rb-version': 'v1' },
      status: 'ODD',
      resources: [{}],
    })
    expect(status).toBe(422)
    expect(body.errors.map(({ field }: { field: string }) => field)).toEqual([
      'id',
      'request.rb-name',
      'request.cloud-region',
      'status',
      'resources[0].GVK',
      'resources[0].Name',
    ])
    expect(await send('GET', '/wrong')).toMatchObject({ status: 404 })
    expect(await send('PUT', '/wrong/status', { resourcesStatus: [] })).toMatchObject({
      status: 404,
      body: { retryable: true },
    })
    expect(await send('POST', '/wrong', {})).toMatchObject({ status: 405 })
  })

  it.each([
    ['small', 2],
    ['large', 1_200],
  ])('lets no %s status that arrives late bring back the objects of a deleted instance', async (id, size) => {
    const resourcesStatus = Array.from({ length: size }, (_, index) => ({ ...pod, name: `pod-${index}`, status: {} }))
    const counts = async () =>
      (await server.query(`{ deployment(deploymentId: "${id}") { state readiness resourceCounts { total } } }`))
        .deployment
    await send('PUT', `/${id}`, { ...fixture('instance'), id, resources: [] })
    expect(await send('PUT', `/${id}/status`, { resourcesStatus })).toMatchObject({ status: 200 })
    await send('DELETE', `/${id}`)
    expect(await send('PUT', `/${id}/status`, { resourcesStatus })).toMatchObject({
      status: 404,
      body: { retryable: true },
    })
    expect(await send('PUT', `/${id}/status`, { resourcesStatus: [] })).toMatchObject({
      body: { verdict: 'UNCHANGED' },
    })
    expect(await counts()).toEqual({ state: 'REMOVED', readiness: 'UNKNOWN', resourceCounts: { total: 0 } })
    const subscription = { name: 'late', 'callback-url': 'https://so.example/status' }
    expect(await send('POST', `/${id}/status/subscription`, subscription)).toMatchObject({ status: 404 })
    await send('PUT', `/${id}`, { ...fixture('instance'), id, resources: [] })
    expect(await send('PUT', `/${id}/status`, { resourcesStatus })).toMatchObject({ body: { verdict: 'APPLIED' } })
    expect(await counts()).toMatchObject({ state: 'INSTALLED', resourceCounts: { total: size } })
  })

  it('forgets what was deleted, and its history does not', async () => {
    await send('PUT', '/gone', { ...fixture('instance'), id: 'gone', status: 'CREATING' })
    const list = async () => (await send('GET', '')).body.map(({ id }: { id: string }) => id)
    expect(await list()).toContain('gone')
    expect(await send('DELETE', '/gone')).toMatchObject({ status: 200, body: { verdict: 'APPLIED' } })
    expect(await send('DELETE', '/gone')).toMatchObject({ status: 200, body: { verdict: 'UNCHANGED' } })
    expect(await send('GET', '/gone')).toMatchObject({ status: 404 })
    expect(await list()).not.toContain('gone')
    const { deployment } = await server.query(
      '{ deployment(deploymentId: "gone") { state history { nodes { ... on DeploymentStateChanged { to } } } } }',
    )
    expect(deployment).toMatchObject({
      state: 'REMOVED',
      history: { nodes: [{ to: 'INSTALLING' }, {}, {}, { to: 'REMOVED' }, {}] },
    })
    const again = { ...fixture('instance'), id: 'gone' }
    expect(await send('PUT', '/gone', again)).toMatchObject({ status: 201, body: { verdict: 'APPLIED' } })
    expect(await send('PUT', '/gone', again)).toMatchObject({ status: 200, body: { verdict: 'UNCHANGED' } })
    expect(await send('GET', '/gone')).toMatchObject({ status: 200 })
  })
})
