import { describe, expect, it } from 'vitest'
import { resourceId } from '../../src/outlets/sinks/inventory-node.ts'
import { stores } from '../support/databases/stores.ts'
import { breakMarks } from './harness.ts'
import { deployment, GVK, place, useInventory, vnf } from './inventory-harness.ts'

const pod = {
  name: 'p',
  GVK: { Group: '', Version: 'v1', Kind: 'Pod' },
  status: { phase: 'Running', containerStatuses: [{ name: 'c', ready: true }] },
}
const vfModule = `${vnf}/vf-modules/vf-module/module-1`

describe.each(stores)('A&AI on $name', (store) => {
  const inventory = useInventory(store)
  const { belong, callbacks, resourcesOf, show, tell } = inventory

  it('does not tell its caller of a failure of the database', async () => {
    await tell('broken', 'a')
    await show('broken', deployment('a'))
    const { failures, mend } = await breakMarks(inventory.server.app.database)
    expect(await belong('broken', 'update')).toBe(202)
    // After three failures of A&AI, the caller would get FAILED.
    await expect.poll(failures).toBeGreaterThan(3)
    expect(callbacks('broken')).toEqual([])
    await mend()
    await inventory.receiver.until(() => callbacks('broken').length > 0)
    expect(callbacks('broken')).toEqual(['COMPLETED'])
    expect(await belong('broken', 'delete')).toBe(202)
    await inventory.receiver.until(() => callbacks('broken').length === 2)
  })

  it('is brought level, kept level, and emptied again', async () => {
    inventory.aai.put(vnf, { 'vnf-id': 'vnf-1' })
    inventory.aai.put(vfModule, { 'vf-module-id': 'module-1' })
    await tell('i', 'a')
    await show('i', deployment('a'), pod)
    expect(await belong('i', 'update', { genericVnfId: 'vnf-1', vfModuleId: 'module-1' })).toBe(202)
    await inventory.receiver.until((all) => all.some(({ path }) => path === '/i'))
    expect(callbacks('i')).toEqual(['COMPLETED'])
    const [[uri, node] = ['', null]] = [...inventory.aai.nodes].filter(([path]) => path.includes('/k8s-resource/'))
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
    expect(inventory.aai.nodes.get(vfModule)).toMatchObject({ 'operational-status': 'in-service-path' })

    inventory.aai.race(uri)
    await show('i', deployment('a', '2', 0), deployment('b'), pod)
    await expect.poll(() => resourcesOf('i')).toEqual(['a 2', 'b 1'])
    await expect.poll(() => inventory.aai.nodes.get(vfModule)?.['operational-status']).toBe('out-of-service-path')
    await show('i', deployment('b'))
    await expect.poll(() => resourcesOf('i')).toEqual(['b 1'])
    // What went and comes again as it was is new there.
    await show('i', deployment('a', '2', 0), deployment('b'))
    await expect.poll(() => resourcesOf('i')).toEqual(['a 2', 'b 1'])
    // Of another version it has another id.
    await show('i', { ...deployment('b'), GVK: { ...GVK, Version: 'v2' } })
    await expect.poll(() => resourcesOf('i', 'version')).toEqual(['b v2'])
    expect(await belong('i', 'delete')).toBe(202)
    await inventory.receiver.until(() => callbacks('i').length === 2)
    expect(callbacks('i')).toEqual(['COMPLETED', 'COMPLETED'])
    expect(resourcesOf('i')).toEqual([])
    await expect
      .poll(async () => (await inventory.server.query('{ sinks(kinds: [INVENTORY]) { id } }')).sinks)
      .toEqual([])
  })

  it('is kept level through failures, thirty at a time, until the instance is deleted', async () => {
    const many = Array.from({ length: 70 }, (_, index) => deployment(`d${index}`))
    await tell('j', 'd0')
    await show('j', ...many)
    inventory.aai.fail(500, 1)
    await belong('j', 'update')
    await inventory.receiver.until(() => callbacks('j').length === 1)
    expect(callbacks('j')).toEqual(['COMPLETED'])
    expect(resourcesOf('j')).toHaveLength(70)
    const response = await fetch(`${inventory.server.url}/v1/instance/j`, { method: 'DELETE' })
    expect(response.status).toBe(200)
    await expect.poll(() => resourcesOf('j')).toEqual([])
  })

  it('is kept level with a VNF of many relationships, which A&AI lists in each answer', async () => {
    const own = '/network/generic-vnfs/generic-vnf/large'
    const data = Array.from({ length: 5 }, (_, index) => ({
      'relationship-key': `k8s-resource.key-${index}`,
      'relationship-value': 'x'.repeat(40),
    }))
    const relationship = Array.from({ length: 2_000 }, (_, index) => ({
      'related-to': 'k8s-resource',
      'related-link': `/aai/v24/cloud-infrastructure/${index}`,
      'relationship-data': data,
    }))
    inventory.aai.put(own, { 'vnf-id': 'large', 'relationship-list': { relationship } })
    await tell('large', 'a')
    await show('large', deployment('a'))
    expect(await belong('large', 'update', { genericVnfId: 'large' })).toBe(202)
    await inventory.receiver.until(() => callbacks('large').length > 0)
    expect(callbacks('large')).toEqual(['COMPLETED'])
    expect(inventory.aai.nodes.get(own)).toMatchObject({ 'operational-status': 'in-service-path' })
  })

  it('says in a label how ready each resource is', async () => {
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
      [...inventory.aai.nodes.values()]
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
      .poll(async () => (await inventory.server.query('{ sinks(kinds: [INVENTORY]) { lag } }')).sinks)
      .toContainEqual({ lag: 0 })
  })
})
