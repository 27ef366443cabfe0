/** Facts of EMCO that arrive again, incomplete or damaged (docs/wire.md §2). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, bundle, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'

describe.each(stores)('facts of EMCO on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  it('skips what it has of a list of actions, with and without times', async () => {
    const emco = newGroup(server)
    const [a, b] = [newContext(), newContext()]
    const tell = async (...actions: readonly (readonly [State: string, ContextId?: string, TimeStamp?: string])[]) => {
      const Actions = actions.map(([State, ContextId, TimeStamp]) => ({ State, ContextId, TimeStamp }))
      const { status, body } = await emco.call('POST', `${emco.base}/actions`, { Actions })
      return [status, body.state?.Actions.map((action: Answer) => action.State).join(' ')]
    }
    const begun = [['Created'], ['Approved'], ['Instantiated', a]] as const
    await emco.act('Created', 'Approved')
    expect(await tell(...begun)).toEqual([201, 'Created Approved Instantiated'])
    expect(await tell(...begun, ['Terminated'])).toEqual([201, 'Created Approved Instantiated Terminated'])
    expect(await tell(...begun, ['Terminated', a])).toEqual([200, 'Created Approved Instantiated Terminated'])
    expect(await tell(...begun)).toEqual([200, 'Created Approved Instantiated Terminated'])
    // The orchestrator's own times, where the actions were first sent without any.
    const timed = [
      ['Created', '', '2026-03-01T08:00:00Z'],
      ['Approved', '', '2026-03-01T08:01:00Z'],
      ['Instantiated', a, '2026-03-01T08:02:00Z'],
      ['Terminated', a, '2026-03-01T08:03:00Z'],
      ['Instantiated', b, '2026-03-01T08:04:00Z'],
    ] as const
    expect(await tell(...timed)).toEqual([201, 'Created Approved Instantiated Terminated Instantiated'])
    expect(await tell(...timed)).toEqual([200, 'Created Approved Instantiated Terminated Instantiated'])
    expect((await emco.call('POST', `${emco.base}/actions`, { State: 'Created' })).status).toBe(409)
  })

  it('takes an object that it cannot read for present, and one that is no state for no empty state', async () => {
    const emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(context, [{ name: 'a' }, { name: 'n', kind: 'Network' }])
    const entry = { group: 'k8s.plugin', version: 'v1', kind: 'Network', name: 'n', res: 'eyJtZXR' }
    const field = 'status.resourceStatuses[0]'
    expect(
      await emco.show(context, { deploymentStatuses: [shownDeployment('a')], resourceStatuses: [entry] }),
    ).toMatchObject({ verdict: 'APPLIED', errors: [{ field }] })
    const ready = async () => (await emco.status('?status=ready&output=summary')).readyCounts
    expect(await ready()).toEqual({ Ready: 1, NotReady: 1 })
    for (const [other, part] of [
      [{ kind: 'Deployment', status: { replicas: 1 } }, 'kind'],
      [{ status: 'fine' }, 'status'],
      [{ status: [] }, 'status'],
    ] as const)
      expect(
        await emco.call('PUT', `${emco.base}/resource-bundle-states/p%2Bedge01`, {
          ...bundle(`${context}-sink`, {}),
          ...other,
        }),
      ).toMatchObject({ status: 422, body: { errors: [{ field: part }] } })
    expect(await ready()).toEqual({ Ready: 1, NotReady: 1 })
  })
})
