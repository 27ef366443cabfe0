/** The name of the browser's tab: what the page shows, and never what an earlier page has shown. */
import { describe, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { expectShown, titleOf } from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { groupOf } from '../../support/systems/emco.ts'
import { followLink, useDashboard } from '../harness.ts'

describe.runIf(isWhole && findChromium())('the title', () => {
  const { server, visit } = useDashboard()

  it.each([
    ['setup', 'Register a device · Set-up'],
    ['setup/notifications', 'Notifications · Set-up'],
    ['device/edge-1', 'edge-1 · Device'],
    ['deployment/edge-1/hello', 'hello on edge-1'],
    ['nowhere/at/all', 'Not found'],
  ])('of /%s is %s', async (address, title) => {
    const { page } = await visit(`#/${address}`)
    await expectShown(titleOf(page)).toBe(`(1) ${title} · Rollcall`)
  })

  it('of a resource is its name and its kind', async () => {
    const key = { project: 'plant', compositeApp: 'line', compositeAppVersion: 'v1', name: 'line' }
    const group = groupOf(server(), key)
    await group.act('Created', 'Approved', 'Instantiated 77')
    await group.apply('77', [{ app: 'web', cluster: 'eu+one', kind: 'Service', name: 'front', namespace: 'default' }])
    const { resources } = await server().query('{ resources { nodes { id } } }')
    const { page } = await visit(`resource/${resources.nodes[0].id}`)
    await expectShown(titleOf(page)).toBe('(1) front · Service · Rollcall')
  })

  it('of a rollout that does not exist is not that of the rollout before', async () => {
    const { rollouts } = await server().query('{ rollouts(first: 1) { nodes { id name } } }')
    const [{ id, name }] = rollouts.nodes
    const { page } = await visit(`rollout/${id}`)
    await expectShown(titleOf(page)).toBe(`(1) ${name} · Rollcall`)
    await followLink(page, '/rollout/Um9sbG91dDo5OTk5OTk')
    await page.getByRole('heading', { name: 'Rollout not found' }).waitFor()
    await expectShown(titleOf(page)).toBe('(1) Rollout · Rollcall')
    await followLink(page, `/rollout/${id}`)
    await expectShown(titleOf(page)).toBe(`(1) ${name} · Rollcall`)
    await followLink(page, '/')
    await expectShown(titleOf(page)).toBe('(1) Overview · Rollcall')
  })
})
