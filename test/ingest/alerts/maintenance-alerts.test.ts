/** Rules with holdInMaintenance: what they count while a device is in a window, and from when they wait. */
import { expect, it } from 'vitest'
import { planMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { stores } from '../../support/databases/stores.ts'
import { openFreshAlertFleet } from './harness.ts'

const [store = expect.unreachable()] = stores
/** As the mutation saves a rule that is held. */
const held = { where: { inMaintenance: false } }

async function open() {
  const fleet = await openFreshAlertFleet(store)
  return {
    ...fleet,
    /** Of a device, for so many seconds from now. */
    plan: (device: string, seconds: number) =>
      fleet.road.writer.submit(
        planMaintenance(
          {
            ...{ reason: 'power', repeat: null, timeZone: 'UTC', beginsAt: fleet.now() },
            endsAt: fleet.now() + seconds * 1_000,
            selector: { given: {}, filter: { deviceIds: [device] } },
          },
          'ann',
        ),
      ),
    wait: async (seconds: number) => {
      fleet.pass(seconds)
      await fleet.tick()
    },
  }
}

it('wait for progress from the end of the window', async () => {
  const { rule, send, plan, wait, tick, story } = await open()
  await rule('stuck', { metric: 'NO_PROGRESS', threshold: 600, perRollout: true }, held)
  await rule('at once', { metric: 'NO_PROGRESS', threshold: 600, perRollout: true })
  await send('a', 'app', 'INSTALLING')
  await tick()
  await wait(300)
  await plan('a', 1_000)
  await tick()
  await wait(999)
  expect(await story()).toEqual(['at once app RAISED 1299'])
  await wait(1)
  await wait(599)
  expect(await story()).toHaveLength(1)
  await wait(2)
  expect(await story()).toEqual(['at once app RAISED 1299', expect.stringMatching(/^stuck app RAISED 60[01]$/)])
})

it('resolve when the window begins, and are raised again after it, if there is still a reason', async () => {
  const { rule, send, plan, wait, tick, story } = await open()
  await rule('held', { forSeconds: 60 }, held)
  await send('a', 'app', 'FAILED')
  await send('b', 'app', 'INSTALLED')
  await tick()
  await wait(61)
  await plan('a', 1_000)
  await tick()
  await wait(50)
  const told = ['held fleet RAISED 1', 'held fleet RESOLVED 0']
  expect(await story()).toEqual(told)
  // A device that is in no window counts meanwhile.
  for (const state of ['FAILED', 'INSTALLED'] as const) {
    await send('b', 'app', state)
    await tick()
    await wait(61)
  }
  expect(await story()).toEqual([...told, ...told])
  await wait(1_000)
  await tick()
  await wait(61)
  expect(await story()).toEqual([...told, ...told, 'held fleet RAISED 1'])
})
