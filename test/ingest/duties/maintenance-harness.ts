/** Planned downtime: a fleet with windows, and its time. */
import { afterEach, expect } from 'vitest'
import type { MaintenancePlan } from '../../../src/domain/maintenance.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { planMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { createMaintenance, type MaintenanceOptions } from '../../../src/ingest/duties/maintenance.ts'
import { createMaintenanceWindows } from '../../../src/ingest/duties/maintenance-windows.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { openFresh } from '../../support/databases/databases.ts'
import type { Store } from '../../support/databases/stores.ts'
import { createRoad } from '../../support/servers/road.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

export const minute = 60_000

export async function openMaintained(store: Store, options: Partial<MaintenanceOptions> = {}) {
  const database = await openFresh(store)
  let now = Date.now()
  const clock = () => now
  const road = await createRoad(database, { writer: { clock } })
  closing.push(() => road.close())
  const failures: unknown[] = []
  closing.push(async () => expect(failures).toEqual([]))
  const { session } = database
  const duty = () => createMaintenanceWindows(database, road.writer)
  const inTurn = (of: ReturnType<typeof duty>) => of.run({ now, listeningSince: 0, isOver: () => false })
  const kept = duty()
  const keeper = () => {
    const made = createMaintenance({
      ...{ database, writer: road.writer, clock, offlineAfter: null, stalling: { factor: null, after: null } },
      ...{ historyDays: null, forgetRemovedDays: null, interval: 2 ** 30, ...options },
      failed: (error) => failures.push(error),
    })
    closing.push(() => made.stop())
    return made
  }
  const one = keeper()
  await one.tick()
  return {
    road,
    session,
    one,
    keeper,
    /** One round of the duty alone, of a server that runs all the while. */
    look: () => inTurn(kept),
    /** The same of a server that has just begun, which looks at each window. */
    relook: () => inTurn(duty()),
    now: () => now,
    register: (deviceId: string, site: string) =>
      road.writer.submit(
        registerDevices([
          {
            ...{ deviceId, name: null, labels: [{ key: 'site', value: site }], parent: null },
            ...{ expectedInterval: 60, tokenHash: `of ${deviceId}` },
          },
        ]),
      ),
    send: (reporter: string, state: DeploymentState = 'INSTALLED') =>
      road.writer.submit(recordReport(report({ reporter, deploymentId: `of-${reporter}`, state }))),
    /** Of the devices of a site, from so many minutes from now to others. */
    plan: (site: string, from: number, to: number, more: Partial<MaintenancePlan> = {}) =>
      road.writer.submit(
        planMaintenance(
          {
            ...{ reason: 'power', beginsAt: now + from * minute, endsAt: now + to * minute, repeat: null },
            ...{ timeZone: 'UTC', selector: { given: {}, filter: { labels: [{ key: 'site', value: site }] } } },
            ...more,
          },
          'ann',
        ),
      ),
    /** In minutes, the timekeeper awake all the while. */
    async pass(minutes: number) {
      for (const until = now + minutes * minute; now < until; ) {
        now = Math.min(now + minute / 2, until)
        await one.tick()
      }
    },
    /** In minutes, while no server runs. */
    sleep(minutes: number) {
      now += minutes * minute
    },
    device: async (name: string, asOf: number | null = null) => {
      const found = await targetByName(session, 'DEVICE', '', name, asOf)
      const { connectivity, maintenanceReason: reason = null, maintenanceUntil: until = null } = found ?? {}
      return { connectivity, reason, until }
    },
    kinds: async () =>
      (
        await session.run<{ kind: string }>(
          `select c->>'kind' as kind from change_log, json_array_elements(changes) c where c->>'kind' like '%MAINTENANCE%' order by first_revision`,
        )
      ).map(({ kind }) => kind),
  }
}
