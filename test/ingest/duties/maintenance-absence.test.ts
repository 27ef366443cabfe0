/** Planned downtime: what brokers, gateways and orchestrators say of a target that is in a window, during it and afterwards. */
import { expect, it } from 'vitest'
import { recordConnection, reportConnectivity } from '../../../src/ingest/commands/connectivity.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { endMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { openMaintained } from './maintenance-harness.ts'

const [store = expect.unreachable()] = stores

async function open() {
  const fleet = await openMaintained(store)
  const { road, session } = fleet
  return {
    ...fleet,
    /** A device that promises no heartbeats: its broker alone says that it is gone. */
    connect: async (deviceId: string, site: string) => {
      const labels = [{ key: 'site', value: site }]
      const device = { deviceId, name: null, labels, parent: null, expectedInterval: null }
      await road.writer.submit(registerDevices([{ ...device, tokenHash: `of ${deviceId}` }]))
      await road.writer.submit(recordConnection(deviceId, 'ONLINE', heard(deviceId)))
    },
    will: (deviceId: string) => road.writer.submit(recordConnection(deviceId, 'OFFLINE', heard(deviceId))),
    birth: (deviceId: string) => road.writer.submit(recordConnection(deviceId, 'ONLINE', heard(deviceId))),
    /** What made a target what it is, of those that changed. */
    causes: async () =>
      (
        await session.run<{ cause: string }>(
          `select t.name || ' ' || (c->>'to') || ' ' || (c->>'source') as cause from change_log l
           cross join json_array_elements(l.changes) c join targets t on t.key = l.target_key
           where c->>'kind' = 'CONNECTIVITY_CHANGED' and c->>'to' = 'OFFLINE' order by l.first_revision`,
        )
      ).map(({ cause }) => cause),
  }
}

const heard = (caller: string) => ({ caller, connectedAt: null, isInOrder: true })

it('takes a last will as planned, and counts it after the window unless the device was heard since', async () => {
  const { connect, will, birth, plan, pass, causes, relook, one, sleep } = await open()
  for (const device of ['gone', 'back', 'late']) await connect(device, 'a')
  await plan('a', 0, 10)
  await plan('a', 5, 20, { reason: 'longer' })
  await pass(1)
  expect((await will('gone')).verdict).toBe('UNCHANGED')
  await will('back')
  await pass(1)
  await birth('back')
  // It is still in the next window.
  await pass(13)
  expect(await causes()).toEqual([])
  // The server that knew of it dies. The next one notices later that the window is over.
  await one.stop()
  sleep(10)
  await relook()
  await will('late')
  expect(await causes()).toEqual(['gone OFFLINE BROKER', 'late OFFLINE BROKER'])
  await birth('gone')
  await relook()
  expect(await causes()).toHaveLength(2)
})

it('takes what a gateway says of its child as planned, and what it says afterwards as news', async () => {
  const { road, register, plan, pass, causes } = await open()
  await register('gw/child', 'a')
  const unreachable = () =>
    road.writer.submit(
      recordReport(
        report({
          ...{ reporter: 'gw', deviceId: 'gw/child', deploymentId: 'vision', state: 'INSTALLING' },
          error: { code: '102', message: 'no answer' },
        }),
      ),
    )
  await plan('a', 0, 5)
  await pass(1)
  await unreachable()
  expect(await causes()).toEqual([])
  await pass(5)
  await unreachable()
  expect(await causes()).toEqual(['gw/child OFFLINE GATEWAY'])
})

it('has clusters, which are lost only if their orchestrator has not reached them since', async () => {
  const { road, session, plan, pass, causes, kinds, relook } = await open()
  const say = (name: string, to: 'ONLINE' | 'OFFLINE' | 'RETRYING') =>
    road.writer.submit(reportConnectivity({ kind: 'CLUSTER', provider: 'p', name }, to))
  const stateOf = async (name: string) => {
    const found = await targetByName(session, 'CLUSTER', 'p', name)
    return [found?.connectivity, found?.maintenanceReason]
  }
  for (const name of ['east', 'west', 'south']) await say(name, 'ONLINE')
  const selector = { givenClusters: {}, clusters: { names: ['east', 'west'] } }
  const { key } = await plan('', 0, 60, { selector })
  await pass(1)
  for (const name of ['east', 'west', 'south']) await say(name, 'OFFLINE')
  expect(await Promise.all(['east', 'south'].map(stateOf))).toEqual([
    ['ONLINE', 'power'],
    ['OFFLINE', null],
  ])
  await pass(1)
  await say('west', 'RETRYING')
  await road.writer.submit(endMaintenance(key, 'ann'))
  await Promise.all([relook(), relook()])
  await pass(0.5)
  expect(await causes()).toEqual(['south OFFLINE ORCHESTRATOR', 'east OFFLINE ORCHESTRATOR'])
  expect(await stateOf('west')).toEqual(['RETRYING', null])
  expect((await kinds()).filter((kind) => kind === 'MAINTENANCE_ENDED')).toHaveLength(2)
})
