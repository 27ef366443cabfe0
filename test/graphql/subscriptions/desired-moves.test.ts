import { describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { beginEpoch } from '../../../src/store/connection/epoch.ts'
import { stores } from '../../support/databases/stores.ts'
import { declare, documentOf, remove, useDesired } from './desired-operations.ts'

describe.each(stores)('desired state on $name', (store) => {
  const { api, run, put, find, say } = useDesired(store)

  it('stays the same deployment when it is declared for another child of its gateway', async () => {
    const first = await put('mover/one', 'm', documentOf('1', 'a'))
    await api().report({
      reporter: 'mover',
      deviceId: 'mover/one',
      deploymentId: 'm',
      state: 'INSTALLED',
      adoptedManifestVersion: '2',
    })
    const second = await put('mover/two', 'm', documentOf('2', 'a'))
    expect(second).toMatchObject({ id: first.id, convergence: 'STALE', targetManifestVersion: '3' })
    await api().report({
      reporter: 'mover',
      deviceId: 'mover/two',
      deploymentId: 'm',
      state: 'INSTALLED',
      adoptedManifestVersion: '3',
    })
    const { deployments } = await api().ask(
      '{ deployments(filter: { deploymentIds: ["m"] }) { nodes { id convergence device { deviceId } } } }',
    )
    expect(deployments.nodes).toEqual([{ id: first.id, convergence: 'CONVERGED', device: { deviceId: 'mover/two' } }])
  })

  it('moves also when it was removed before the first report', async () => {
    const { id } = await put('early/one', 'e', documentOf('1', 'a'))
    await run(remove, { ids: [id] })
    expect(await put('early/two', 'e', documentOf('1', 'a'))).toMatchObject({ id, targetManifestVersion: '4' })
    await api().report({
      reporter: 'early',
      deviceId: 'early/two',
      deploymentId: 'e',
      state: 'INSTALLED',
      adoptedManifestVersion: '4',
    })
    expect(await find('e')).toMatchObject({ id, convergence: 'CONVERGED' })
    // What a child has reported by itself stays its own.
    const own = await put('early/three', 'own', documentOf('1', 'a'))
    await say('early/three', 'own', 'INSTALLED', '5')
    await run(remove, { ids: [own.id] })
    expect((await put('early/four', 'own', documentOf('1', 'a'))).id).not.toBe(own.id)
  })

  it('belongs to the device itself if its name begins with a slash, which is not a gateway', async () => {
    await put('/odd', 'odd', documentOf('1', 'a'))
    await put('/odd/child', 'below', documentOf('1', 'a'))
    await api().road.database.transaction((session) => beginEpoch(session, Date.now()))
    const asked = '{ odd: device(deviceId: "/odd") { manifestVersion } none: device(deviceId: "") { name } }'
    expect(await api().ask(asked)).toEqual({
      odd: { manifestVersion: expect.stringMatching(/^\d{10,16}$/) },
      none: null,
    })
  })

  it('is in one manifest at a time, also when the deployment moved to a device with another manifest', async () => {
    const listed = async (deviceId: string) => {
      const asked =
        'query ($id: String!) { device(deviceId: $id) { manifestHistory { nodes { version changes { deploymentId digest } } } } }'
      return (await api().ask(asked, { id: deviceId })).device.manifestHistory.nodes
    }
    const place = async (deviceId: string) =>
      api().report({
        reporter: 'hub',
        deviceId,
        deploymentId: 'moving',
        state: 'INSTALLED',
        adoptedManifestVersion: '1',
      })
    const [first, second] = [documentOf('1', 'a'), documentOf('2', 'a')]
    await place('wing')
    const { id } = await put('wing', 'moving', first)
    await place('hub')
    const deployments = [{ deviceId: 'hub', deploymentId: 'moving', document: second }]
    expect(await run(declare, { deployments })).toMatchObject({
      __typename: 'Conflict',
      message: expect.stringContaining('moving'),
    })
    expect(await listed('hub')).toEqual([])
    await run(remove, { ids: [id] })
    const moved = await put('hub', 'moving', second)
    expect([moved.id, moved.desired]).toEqual([id, expect.objectContaining({ content: second })])
    expect(await listed('wing')).toEqual([
      { version: '3', changes: [{ deploymentId: 'moving', digest: null }] },
      { version: '2', changes: [{ deploymentId: 'moving', digest: digestOf(first) }] },
    ])
    expect(await listed('hub')).toEqual([
      { version: '2', changes: [{ deploymentId: 'moving', digest: digestOf(second) }] },
    ])
  })
})
