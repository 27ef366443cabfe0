/** What a server of a site sends to the one above it, without faults. */
import { describe, expect, it } from 'vitest'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/devices/register.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { report } from '../support/clients/reports.ts'
import { everyStore } from '../support/databases/stores.ts'
import type { Road } from '../support/servers/road.ts'
import { expectSame, untilLevel, useUpstream } from './harness.ts'

const say = ({ writer }: Road, reporter: string, some: Parameters<typeof report>[0] = {}) =>
  writer.submit(recordReport(report({ reporter, ...some })))

const device = (deviceId: string, parent: string | null = null) => ({
  ...{ deviceId, name: `the ${deviceId}`, labels: [{ key: 'hall', value: '3' }], parent },
  ...{ expectedInterval: 60, tokenHash: `of ${deviceId}`, identities: null },
})

describe.each(everyStore)('a server of a site, on $name', (store) => {
  const { above, startRoad, send } = useUpstream(store)

  it('sends the present first, and then each fact once and in order', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    await say(road, 'edge-1', { state: 'INSTALLING', components: [{ name: 'web', state: 'INSTALLING', error: null }] })
    send(road, receiver)
    await untilLevel(road, receiver)
    expect(receiver.held().facts).toEqual([])
    const { revision } = receiver.held().position ?? { revision: 0 }
    await say(road, 'edge-1', {
      state: 'FAILED',
      error: { code: '507', message: 'full' },
      observedAt: 1_000,
      seq: '4',
      boot: 'b',
    })
    await say(road, 'edge-2', { deploymentId: 'd-2', state: 'INSTALLED' })
    await untilLevel(road, receiver)
    await expectSame(road.database, receiver, revision)
    const [failed, installed] = receiver.held().facts.filter(({ deployment }) => deployment !== undefined)
    expect(failed).toMatchObject({
      observedAt: 1_000,
      report: { verdict: 'APPLIED', seq: '4', boot: 'b', dialect: 'test' },
    })
    expect(failed).not.toHaveProperty('named')
    expect(installed).toMatchObject({ named: { deploymentId: 'd-2', reporter: 'edge-2' }, rollout: { name: 'd-2' } })
  })

  it('sends registrations that make no fact, parents with their children, and names what a declaration creates', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    send(road, receiver)
    await untilLevel(road, receiver)
    const { revision } = receiver.held().position ?? { revision: 0 }
    await road.writer.submit(registerDevices([device('gw/a', 'gw'), device('gw')]))
    await untilLevel(road, receiver)
    await road.writer.submit(
      declareDeployments({ name: 'r-1', project: 'p' }, [
        { deviceId: 'gw/a', deploymentId: 'd-1', application: 'shop', applicationVersion: '2', components: ['web'] },
      ]),
    )
    await say(road, 'gw/a', { state: 'INSTALLED' })
    await untilLevel(road, receiver)
    await expectSame(road.database, receiver, revision)
  })
})
