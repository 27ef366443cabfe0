/** Capabilities of devices. They grant no access: these routes require the same credential as all others. */

import { DomainError } from '../../../domain/errors.ts'
import { forgetCapabilities, recordCapabilities } from '../../../ingest/commands/devices/capabilities.ts'
import { parentName } from '../../../ingest/devices.ts'
import type { DeviceMethod } from '../../../ingest/dialects/devices.ts'
import { refusal } from '../../../platform/body/problems.ts'
import type { Database } from '../../../store/database.ts'
import { hasCapabilities } from '../../../store/read/targets/profiles.ts'
import { answer, decodeBody, type Exchange, lazyBody, requireMediaType } from '../exchange.ts'
import { authenticate, ignoredLimit, type SubmitDeps, submitFor } from './device-caller.ts'
import { noteDeviations, type RecordDeps } from './record-report.ts'

export interface CapabilitiesDeps extends SubmitDeps, Pick<RecordDeps, 'metrics' | 'isStrict'> {
  readonly database: Pick<Database, 'session'>
}

export async function takeCapabilities(
  deps: CapabilitiesDeps,
  exchange: Exchange,
  route: Extract<DeviceMethod, { does: 'describe' }>,
): Promise<void> {
  requireMediaType(exchange.request, route.body.media)
  const read = lazyBody(exchange, route.body.limit)
  const caller = await authenticate(deps, exchange, read)
  const body = await decodeBody(exchange, await read(), route.body.limit)
  const { id, labels, warnings, deviations } = route.read(await route.body.parse(body), body)
  if (deps.isStrict && warnings.length > 0) throw refusal(warnings, 'What the device can run')
  const device = route.deviceId ?? route.reporter ?? caller.device ?? id
  const reporter = route.reporter ?? caller.device ?? device
  deps.admission.admitDevice(caller.device ?? reporter)
  const { session } = deps.database
  const parent = route.deviceId === null ? null : parentName(device)
  if (parent !== null && !(await hasCapabilities(session, parent)))
    throw new DomainError(
      'NOT_FOUND_YET',
      `${parent} has not sent its capabilities yet: a gateway sends them before the devices behind it`,
    )
  const isNew = !route.showsFirst || !(await hasCapabilities(session, device))
  const sent = { text: body.toString().replace(/^\uFEFF/, ''), generation: route.generation, labels }
  await submitFor(deps, exchange, caller, recordCapabilities(device, reporter, caller.device, sent))
  await noteDeviations(deps, device, deviations)
  answer(exchange, isNew ? 201 : 200, 'application/json', JSON.stringify(route.acknowledgement))
}

export async function dropCapabilities(
  deps: CapabilitiesDeps,
  exchange: Exchange,
  route: Extract<DeviceMethod, { does: 'withdraw description' }>,
): Promise<void> {
  const caller = await authenticate(deps, exchange, lazyBody(exchange, ignoredLimit))
  const device = route.deviceId
  const reporter = route.reporter ?? caller.device ?? device
  deps.admission.admitDevice(caller.device ?? reporter)
  await submitFor(deps, exchange, caller, forgetCapabilities(device, reporter, caller.device))
  exchange.response.writeHead(204).end()
}
