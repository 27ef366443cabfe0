import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resourceId } from '../../src/sinks/inventory.ts'
import { type Aai, startAai } from '../support/aai.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { stores } from '../support/stores.ts'

const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
const deployment = (name: string, resourceVersion = '1', ready = 1) => ({
  name,
  GVK,
  status: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'ns', resourceVersion, labels: { app: name } },
    spec: { replicas: 1 },
    status: { replicas: 1, updatedReplicas: 1, readyReplicas: ready, availableReplicas: ready },
  },
})
const pod = {
  name: 'p',
  GVK: { Group: '', Version: 'v1', Kind: 'Pod' },
  status: { phase: 'Running', containerStatuses: [{ name: 'c', ready: true }] },
}
const place = { cloudOwner: 'owner', cloudRegion: 'region', tenantId: 'tenant' }
const vnf = '/network/generic-vnfs/generic-vnf/vnf-1'
const vfModule = `${vnf}/vf-modules/vf-module/module-1`

it('names a k8s-resource as so-cnf-adapter does', () => {
  const words = { name: 'name', namespace: '', kind: 'kind', group: 'group', version: 'version' }
  const where = { cloudOwner: 'cloudOwner', cloudRegion: 'cloudRegion', tenantId: 'tenantId' }
  expect(resourceId('instanceId', words, where)).toBe(
    '335d6ab87744a3140b36e70eee7537e97523b5e09f26d1d0ee887fd5839f87e2',
  )
})

describe.each(stores)('A&AI on $name', (store) => {
  let server: RunningApp
  let aai: Aai
  let receiver: Receiver
  beforeAll(async () => {
    aai = await startAai()
    receiver = await startReceiver()
    server = await startApp({
      store,
      env: {
        SINK_ALLOW: '127.0.0.1',
        AAI_URL: aai.url,
        AAI_USER: 'user',
        AAI_PASSWORD: 'password',
        PUBLIC_URL: 'https://rollcall.example',
      },
    })
  })
  afterAll(async () => {
    await server.stop()
    await aai.close()
    await receiver.close()
  })

  const send = async (method: string, path: string, body: unknown): Promise<number> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await response.arrayBuffer()
    return response.status
  }
  const tell = (id: string, ...names: string[]) =>
    send('PUT', `/v1/instance/${id}`, {
      request: { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': id, 'cloud-region': 'region' },
      namespace: 'ns',
      resources: names.map((Name) => ({ GVK, Name })),
    })
  const show = (id: string, ...objects: object[]) =>
    send('PUT', `/v1/instance/${id}/status`, { resourcesStatus: objects })
  const belong = (id: string, action: 'update' | 'delete', more: object = {}) =>
    send('POST', `/api/cnf-adapter/v1/aai-${action}/`, {
      instanceId: id,
      ...place,
      callbackUrl: `${receiver.url}/${id}`,
      ...more,
    })
  const resourcesOf = (id: string, shown = 'data-source-version') =>
    [...aai.nodes]
      .filter(
        ([uri, node]) =>
          uri.includes('/k8s-resource/') && (node.labels as string[])[0] === `k8splugin.io/rb-instance-id=${id}`,
      )
      .map(([, node]) => `${node.name} ${node[shown]}`)
      .toSorted()
  const callbacks = (id: string) =>
    receiver.received.filter(({ path }) => path === `/${id}`).map(({ body }) => body.completionStatus)

  it('is brought level, kept level, and emptied again', async () => {
    aai.put(vnf, { 'vnf-id': 'vnf-1' })
    aai.put(vfModule, { 'vf-module-id': 'module-1' })
    await tell('i', 'a')
    await show('i', deployment('a'), pod)
    expect(await belong('i', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'module-1' })).toBe(202)
    await receiver.until((all) => all.some(({ path }) => path === '/i'))
    expect(callbacks('i')).toEqual(['COMPLETED'])
    const [[uri, node] = ['', null]] = [...aai.nodes].filter(([path]) => path.includes('/k8s-resource/'))
    expect(uri).toBe(
      `/cloud-infrastructure/cloud-regions/cloud-region/owner/region/tenants/tenant/tenant/k8s-resources/k8s-resource/${resourceId(
        'i',
        { name: 'a', namespace: 'ns', kind: 'Deployment', group: 'apps', version: 'v1' },
        place,
      )}`,
    )
    expect(node).toMatchObject({
      name: 'a',
      labels: ['k8splugin.io/rb-instance-id=i', 'app=a'],
      selflink: 'https://rollcall.example/v1/instance/i/status?kind=Deployment&name=a&namespace=ns',
      'data-owner': 'Rollcall',
      'data-source-version': '1',
      'relationship-list': {
        relationship: [
          { 'related-to': 'generic-vnf', 'related-link': `/aai/v24${vnf}` },
          { 'related-to': 'vf-module', 'related-link': `/aai/v24${vfModule}` },
        ],
      },
    })
    expect(aai.nodes.get(vfModule)).toMatchObject({ 'operational-status': 'in-service-path' })

    aai.race(uri)
    await show('i', deployment('a', '2', 0), deployment('b'), pod)
    await expect.poll(() => resourcesOf('i')).toEqual(['a 2', 'b 1'])
    await expect.poll(() => aai.nodes.get(vfModule)?.['operational-status']).toBe('out-of-service-path')
    await show('i', deployment('b'))
    await expect.poll(() => resourcesOf('i')).toEqual(['b 1'])
    // What went and comes again as it was is new there.
    await show('i', deployment('a', '2', 0), deployment('b'))
    await expect.poll(() => resourcesOf('i')).toEqual(['a 2', 'b 1'])
    // Of another version it has another id.
    await show('i', { ...deployment('b'), GVK: { ...GVK, Version: 'v2' } })
    await expect.poll(() => resourcesOf('i', 'version')).toEqual(['b v2'])
    expect(await belong('i', 'delete')).toBe(202)
    await receiver.until(() => callbacks('i').length === 2)
    expect(callbacks('i')).toEqual(['COMPLETED', 'COMPLETED'])
    expect(resourcesOf('i')).toEqual([])
    await expect.poll(async () => (await server.query('{ sinks(kinds: [INVENTORY]) { id } }')).sinks).toEqual([])
  })

  it('is kept level through failures, thirty at a time, until the instance is deleted', async () => {
    const many = Array.from({ length: 70 }, (_, index) => deployment(`d${index}`))
    await tell('j', 'd0')
    await show('j', ...many)
    aai.fail(500, 1)
    await belong('j', 'update')
    await receiver.until(() => callbacks('j').length === 1)
    expect(callbacks('j')).toEqual(['COMPLETED'])
    expect(resourcesOf('j')).toHaveLength(70)
    const response = await fetch(`${server.url}/v1/instance/j`, { method: 'DELETE' })
    expect(response.status).toBe(200)
    await expect.poll(() => resourcesOf('j')).toEqual([])
  })

  it('refuses what it cannot place', async () => {
    expect(await belong('nobody', 'update')).toBe(404)
    expect(await belong('i', 'update', { tenantId: '' })).toBe(422)
    expect(await belong('i', 'update', { callbackUrl: 'http://192.168.0.1/' })).toBe(422)
  })
})
