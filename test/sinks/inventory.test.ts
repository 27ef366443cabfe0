import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { resourceId } from '../../src/sinks/inventory-node.ts'
import { type Aai, startAai } from '../support/aai.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { stores } from '../support/stores.ts'
import { breakMarks } from './harness.ts'

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

  it('does not tell its caller of a failure of the database', async () => {
    await tell('broken', 'a')
    await show('broken', deployment('a'))
    const { failures, mend } = await breakMarks(server.app.database)
    expect(await belong('broken', 'update')).toBe(202)
    // After three failures of A&AI, the caller would get FAILED.
    await expect.poll(failures, { timeout: 20_000 }).toBeGreaterThan(3)
    expect(callbacks('broken')).toEqual([])
    await mend()
    await receiver.until(() => callbacks('broken').length > 0)
    expect(callbacks('broken')).toEqual(['COMPLETED'])
    expect(await belong('broken', 'delete')).toBe(202)
    await receiver.until(() => callbacks('broken').length === 2)
  })

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
      labels: ['k8splugin.io/rb-instance-id=i', 'rollcall/readiness=Ready', 'app=a'],
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

  it('answers each announcement, also one that another follows', async () => {
    await tell('often', 'a')
    await show('often', deployment('a'))
    const actions = ['update', 'update', 'update', 'update', 'delete'] as const
    const answers = actions.map((_, index) => `often-${index}`)
    for (const [index, action] of actions.entries())
      expect(await belong('often', action, { callbackUrl: `${receiver.url}/often-${index}` })).toBe(202)
    await receiver.until(() => answers.every((path) => callbacks(path).length > 0))
    await expect.poll(async () => (await unannounced()).ids).toContain('often')
    expect(answers.map(callbacks)).toEqual(actions.map(() => ['COMPLETED']))
  })

  it('answers all announcements that came at once', async () => {
    await tell('once', 'a')
    const answers = Array.from({ length: 8 }, (_, index) => `once-${index}`)
    await Promise.all(answers.map((path) => belong('once', 'update', { callbackUrl: `${receiver.url}/${path}` })))
    await receiver.until(() => answers.every((path) => callbacks(path).length > 0))
    expect(answers.map(callbacks)).toEqual(answers.map(() => ['COMPLETED']))
    await belong('once', 'delete')
    await receiver.until(() => callbacks('once').length === 1)
  })

  it('sets the status of each module that an instance is announced for', async () => {
    const moduleOf = (id: string): string => `${vnf}/vf-modules/vf-module/${id}`
    const statusOf = (id: string) => aai.nodes.get(moduleOf(id))?.['operational-status']
    aai.put(vnf, { 'vnf-id': 'vnf-1' })
    for (const id of ['before', 'after']) aai.put(moduleOf(id), { 'vf-module-id': id })
    await tell('moved', 'a')
    await show('moved', deployment('a'))
    await belong('moved', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'before' })
    await receiver.until(() => callbacks('moved').length === 1)
    expect(statusOf('before')).toBe('in-service-path')
    await belong('moved', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'after' })
    await receiver.until(() => callbacks('moved').length === 2)
    expect(statusOf('after')).toBe('in-service-path')

    // A failure that was reported says nothing about the module.
    aai.put(moduleOf('failed'), { 'vf-module-id': 'failed' })
    aai.fail(500, 3)
    await belong('moved', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'failed' })
    await receiver.until(() => callbacks('moved').length === 3)
    expect(callbacks('moved')).toEqual(['COMPLETED', 'COMPLETED', 'FAILED'])
    await expect.poll(() => statusOf('failed'), { timeout: 20_000 }).toBe('in-service-path')
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

  it('says in a label how ready each resource is, also in nodes that an older server wrote', async () => {
    const forged = deployment('forged')
    Object.assign(forged.status.metadata.labels, { 'rollcall/readiness': 'Failed' })
    const failed = deployment('failed', '1', 0)
    Object.assign(failed.status.status, {
      conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
    })
    await tell('ready', 'a')
    await show('ready', deployment('a'), deployment('waiting', '1', 0), failed, forged)
    await belong('ready', 'update')
    const labels = () =>
      [...aai.nodes.values()]
        .filter((node) => (node.labels as string[] | undefined)?.includes('k8splugin.io/rb-instance-id=ready'))
        .map((node) => [node.name, ...(node.labels as string[]).filter((label) => label.startsWith('rollcall/'))])
        .toSorted()
    const whole = [
      ['a', 'rollcall/readiness=Ready'],
      ['failed', 'rollcall/readiness=Failed'],
      ['forged', 'rollcall/readiness=Ready'],
      ['waiting', 'rollcall/readiness=Pending'],
    ]
    await expect.poll(labels).toEqual(whole)
    await show('ready', deployment('a'), deployment('waiting', '2'), failed, forged)
    await expect.poll(labels).toEqual([...whole.slice(0, 3), ['waiting', 'rollcall/readiness=Ready']])
    await expect
      .poll(async () => (await server.query('{ sinks(kinds: [INVENTORY]) { lag } }')).sinks)
      .toContainEqual({ lag: 0 })

    for (const [uri, { labels: known, 'resource-version': _, ...node }] of [...aai.nodes])
      if ((known as string[] | undefined)?.includes('k8splugin.io/rb-instance-id=ready'))
        aai.put(uri, { ...node, labels: (known as string[]).filter((label) => !label.startsWith('rollcall/')) })
    await server.app.database.session.run(
      `with old as (update sinks set settings = (settings::jsonb - 'format')::json where name = 'ready' returning key)
       update sink_marks set hash = 'old' where sink_key in (select key from old)`,
    )
    await expect.poll(labels).toEqual([...whole.slice(0, 3), ['waiting', 'rollcall/readiness=Ready']])
  })

  const announceInstance = async (input: object) => {
    const document = `mutation ($input: AnnounceInstanceInput!) { announceInstance(input: $input) { __typename
      ... on AnnounceInstanceSuccess { sink { kind name } } ... on UserError { message path } } }`
    return (await server.query(document, { input })).announceInstance
  }
  const unannounced = async (): Promise<{ totalCount: number; ids: string[] }> => {
    const { unannouncedInstances } = await server.query('{ unannouncedInstances { totalCount nodes { instanceId } } }')
    const { totalCount, nodes } = unannouncedInstances
    return { totalCount, ids: nodes.map(({ instanceId }: { instanceId: string }) => instanceId) }
  }
  const metric = async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    return Number(/^rollcall_inventory_unannounced_instances (\S+)$/m.exec(text)?.[1])
  }

  it('says which instances nothing announced, until an operator announces them', async () => {
    const { totalCount: before } = await unannounced()
    await tell('silent', 'a')
    await tell('gone', 'a')
    await show('silent', deployment('a'))
    expect(await unannounced()).toMatchObject({
      totalCount: before + 2,
      ids: expect.arrayContaining(['silent', 'gone']),
    })
    expect(await metric()).toBe(before + 2)
    await fetch(`${server.url}/v1/instance/gone`, { method: 'DELETE' })
    expect(await unannounced()).toMatchObject({ totalCount: before + 1, ids: expect.not.arrayContaining(['gone']) })
    const { unannouncedInstances } = await server.query(
      '{ unannouncedInstances(first: 0) { totalCount nodes { instanceId } } }',
    )
    expect(unannouncedInstances).toEqual({ totalCount: before + 1, nodes: [] })

    const input = { instanceId: 'silent', ...place, callbackUrl: `${receiver.url}/silent` }
    expect(await announceInstance(input)).toEqual({
      __typename: 'AnnounceInstanceSuccess',
      sink: { kind: 'INVENTORY', name: 'silent' },
    })
    await receiver.until(() => callbacks('silent').length === 1)
    expect(callbacks('silent')).toEqual(['COMPLETED'])
    expect(resourcesOf('silent')).toEqual(['a 1'])
    expect(await unannounced()).toMatchObject({ totalCount: before, ids: expect.not.arrayContaining(['silent']) })
    expect(await metric()).toBe(before)

    await announceInstance(input)
    await receiver.until(() => callbacks('silent').length === 2)
    const { sinks } = await server.query('{ sinks(kinds: [INVENTORY]) { name } }')
    expect(sinks.filter(({ name }: { name: string }) => name === 'silent')).toHaveLength(1)
    await belong('silent', 'delete')
    await receiver.until(() => callbacks('silent').length === 3)
    await expect.poll(async () => (await unannounced()).ids).toContain('silent')
  })

  it.each([
    [{ instanceId: 'never-seen' }, 'NotFound', ['instanceId']],
    [{ tenantId: '' }, 'InvalidInput', ['tenantId']],
    [{ cloudOwner: 'x'.repeat(257) }, 'InvalidInput', ['cloudOwner']],
    [{ vfModuleId: 'module-1' }, 'InvalidInput', ['genericVnfId']],
    [{ callbackUrl: 'http://192.168.0.1/' }, 'InvalidInput', ['callbackUrl']],
    [{ callbackUrl: 'file:///etc/passwd' }, 'InvalidInput', ['callbackUrl']],
  ])('an announcement with %j is refused as %s', async (wrong, type, path) => {
    await tell('refused', 'a')
    const said = await announceInstance({ instanceId: 'refused', ...place, ...wrong })
    expect(said).toEqual({ __typename: type, message: expect.any(String), path })
  })

  it('refuses what it cannot place', async () => {
    expect(await belong('unknown', 'update')).toBe(404)
    expect(await belong('i', 'update', { tenantId: '' })).toBe(422)
    expect(await belong('i', 'update', { callbackUrl: 'http://192.168.0.1/' })).toBe(422)
  })
})

it('misses no instance where there is no inventory, and says so to those that announce one', async () => {
  const server = await startApp()
  onTestFinished(() => server.stop())
  const request = { 'rb-name': 'rb', 'rb-version': 'v1', 'profile-name': 'p', 'cloud-region': 'region' }
  await fetch(`${server.url}/v1/instance/i`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request, resources: [] }),
  })
  const { unannouncedInstances } = await server.query('{ unannouncedInstances { totalCount nodes { instanceId } } }')
  expect(unannouncedInstances).toEqual({ totalCount: 0, nodes: [] })
  const input = { instanceId: 'i', ...place }
  const document = `mutation ($input: AnnounceInstanceInput!) { announceInstance(input: $input) { ... on Conflict { message } } }`
  expect((await server.query(document, { input })).announceInstance.message).toContain('set AAI_URL')
  expect(await (await fetch(`${server.url}/metrics`)).text()).toContain('rollcall_inventory_unannounced_instances 0')
})
