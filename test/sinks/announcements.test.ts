/** Announcements of instances to the inventory: by an orchestrator's call and by an operator's mutation. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { startApp } from '../support/servers/app.ts'
import { deployment, place, useInventory, vnf } from './inventory-harness.ts'

describe.each(stores)('announcements on $name', (store) => {
  const inventory = useInventory(store)
  const { belong, callbacks, resourcesOf, show, tell } = inventory

  const announceInstance = async (input: object) => {
    const document = `mutation ($input: AnnounceInstanceInput!) { announceInstance(input: $input) { __typename
      ... on AnnounceInstanceSuccess { sink { kind name } } ... on UserError { message path } } }`
    return (await inventory.server.query(document, { input })).announceInstance
  }
  const unannounced = async (): Promise<{ totalCount: number; ids: string[] }> => {
    const { unannouncedInstances } = await inventory.server.query(
      '{ unannouncedInstances { totalCount nodes { instanceId } } }',
    )
    const { totalCount, nodes } = unannouncedInstances
    return { totalCount, ids: nodes.map(({ instanceId }: { instanceId: string }) => instanceId) }
  }
  const metric = async () => {
    const text = await (await fetch(`${inventory.server.url}/metrics`)).text()
    return Number(/^rollcall_inventory_unannounced_instances (\S+)$/m.exec(text)?.[1])
  }

  it('answers each announcement, also one that another follows', async () => {
    await tell('often', 'a')
    await show('often', deployment('a'))
    const actions = ['update', 'update', 'update', 'update', 'delete'] as const
    const answers = actions.map((_, index) => `often-${index}`)
    for (const [index, action] of actions.entries())
      expect(await belong('often', action, { callbackUrl: `${inventory.receiver.url}/often-${index}` })).toBe(202)
    await inventory.receiver.until(() => answers.every((path) => callbacks(path).length > 0))
    await expect.poll(async () => (await unannounced()).ids).toContain('often')
    expect(answers.map(callbacks)).toEqual(actions.map(() => ['COMPLETED']))
  })

  it('answers all announcements that came at once', async () => {
    await tell('once', 'a')
    const answers = Array.from({ length: 8 }, (_, index) => `once-${index}`)
    await Promise.all(
      answers.map((path) => belong('once', 'update', { callbackUrl: `${inventory.receiver.url}/${path}` })),
    )
    await inventory.receiver.until(() => answers.every((path) => callbacks(path).length > 0))
    expect(answers.map(callbacks)).toEqual(answers.map(() => ['COMPLETED']))
    await belong('once', 'delete')
    await inventory.receiver.until(() => callbacks('once').length === 1)
  })

  it('sets the status of each module that an instance is announced for', async () => {
    const moduleOf = (id: string): string => `${vnf}/vf-modules/vf-module/${id}`
    const statusOf = (id: string) => inventory.aai.nodes.get(moduleOf(id))?.['operational-status']
    inventory.aai.put(vnf, { 'vnf-id': 'vnf-1' })
    for (const id of ['before', 'after']) inventory.aai.put(moduleOf(id), { 'vf-module-id': id })
    await tell('moved', 'a')
    await show('moved', deployment('a'))
    await belong('moved', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'before' })
    await inventory.receiver.until(() => callbacks('moved').length === 1)
    expect(statusOf('before')).toBe('in-service-path')
    await belong('moved', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'after' })
    await inventory.receiver.until(() => callbacks('moved').length === 2)
    expect(statusOf('after')).toBe('in-service-path')

    // A failure that was reported says nothing about the module.
    inventory.aai.put(moduleOf('failed'), { 'vf-module-id': 'failed' })
    inventory.aai.fail(500, 3)
    await belong('moved', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'failed' })
    await inventory.receiver.until(() => callbacks('moved').length === 3)
    expect(callbacks('moved')).toEqual(['COMPLETED', 'COMPLETED', 'FAILED'])
    await expect.poll(() => statusOf('failed')).toBe('in-service-path')
  })

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
    await fetch(`${inventory.server.url}/v1/instance/gone`, { method: 'DELETE' })
    expect(await unannounced()).toMatchObject({ totalCount: before + 1, ids: expect.not.arrayContaining(['gone']) })
    const { unannouncedInstances } = await inventory.server.query(
      '{ unannouncedInstances(first: 0) { totalCount nodes { instanceId } } }',
    )
    expect(unannouncedInstances).toEqual({ totalCount: before + 1, nodes: [] })

    const input = { instanceId: 'silent', ...place, callbackUrl: `${inventory.receiver.url}/silent` }
    expect(await announceInstance(input)).toEqual({
      __typename: 'AnnounceInstanceSuccess',
      sink: { kind: 'INVENTORY', name: 'silent' },
    })
    await inventory.receiver.until(() => callbacks('silent').length === 1)
    expect(callbacks('silent')).toEqual(['COMPLETED'])
    expect(resourcesOf('silent')).toEqual(['a 1'])
    expect(await unannounced()).toMatchObject({ totalCount: before, ids: expect.not.arrayContaining(['silent']) })
    expect(await metric()).toBe(before)

    await announceInstance(input)
    await inventory.receiver.until(() => callbacks('silent').length === 2)
    const { sinks } = await inventory.server.query('{ sinks(kinds: [INVENTORY]) { name } }')
    expect(sinks.filter(({ name }: { name: string }) => name === 'silent')).toHaveLength(1)
    await belong('silent', 'delete')
    await inventory.receiver.until(() => callbacks('silent').length === 3)
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
    expect(await belong('refused', 'update', { tenantId: '' })).toBe(422)
    expect(await belong('refused', 'update', { callbackUrl: 'http://192.168.0.1/' })).toBe(422)
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
