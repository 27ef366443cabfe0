/** Plays what can happen at a site: the writes of the reference model (test/road/reference/), without the model. */
import { expect } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/devices/register.ts'
import { resetReporterOrder } from '../../src/ingest/commands/devices/reset-reporter-order.ts'
import { retireDevices } from '../../src/ingest/commands/devices/retire.ts'
import { moveMaintenance } from '../../src/ingest/commands/maintenance.ts'
import { forgetDeployments } from '../../src/ingest/commands/remove.ts'
import { markStalled } from '../../src/ingest/commands/stall.ts'
import type { Write } from '../road/reference/reference-commands.ts'
import { recordModelled } from '../road/reference/reference-shown.ts'
import { windows } from '../road/reference/reference-windows.ts'
import type { Road } from '../support/servers/road.ts'

const manifestUpdate = { cause: { caller: '', why: '' }, bundle: () => expect.unreachable() }

/** In one batch, if the writer is idle. A command that the site refuses is no fact. */
export async function writeAll({ database, writer }: Road, writes: readonly Write[], now: number): Promise<void> {
  const known = await database.session.run<{ key: number; revision: number }>(
    'select key, revision from deployments order by key',
  )
  const found = (numbers: readonly number[]) => numbers.flatMap((number) => known[number] ?? [])
  const one = (write: Write): Promise<unknown> => {
    switch (write.do) {
      case 'report': {
        const { ahead, ...report } = write.r
        return writer.submit(recordModelled({ ...report, time: ahead === null ? null : now + ahead * 1_000 }))
      }
      case 'declare': {
        const { rollout, list } = write
        const declared = list.map(({ device, id, application, parts }) => ({
          ...{ deviceId: device, deploymentId: id, application, applicationVersion: null, components: parts },
        }))
        return writer.submit(declareDeployments(rollout === null ? null : { name: rollout, project: null }, declared))
      }
      case 'forget':
        return writer.submit(forgetDeployments(found(write.numbers).map(({ key }) => key)))
      case 'stall':
        return writer.submit(markStalled(found(write.numbers)))
      case 'resetOrder':
        return writer.submit(resetReporterOrder(write.device))
      case 'register': {
        const { device: deviceId } = write
        const parent = deviceId.includes('/') ? 'gw' : null
        const labels = [{ key: 'at', value: String(now % 7) }]
        return writer.submit(
          registerDevices([{ deviceId, name: null, labels, parent, expectedInterval: null, tokenHash: 'x' }]),
        )
      }
      case 'maintain': {
        const windowKey = write.window === null ? null : (windows.get(write.window) ?? null)
        const target = (name: string) => ({ kind: 'DEVICE', provider: '', name }) as const
        return writer.submit(moveMaintenance(write.devices.map((name) => ({ target: target(name), windowKey }))))
      }
      case 'retire': {
        const { device: deviceId, withChildren, reason } = write
        return writer.submit(retireDevices([{ deviceId, replacedBy: null }], { reason, withChildren, manifestUpdate }))
      }
      case 'repeat':
      case 'deliver':
        return Promise.resolve()
    }
  }
  await Promise.all(
    writes.map((write) =>
      one(write).catch((error: unknown) => {
        if (!(error instanceof DomainError)) throw error
      }),
    ),
  )
}
