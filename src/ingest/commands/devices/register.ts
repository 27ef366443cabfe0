/** Operators register devices. Of that, the feed shows only that a retired device is in service again. */
import { inService, type Label } from '../../../domain/target.ts'
import { eachPaced } from '../../../platform/limits/pace.ts'
import type { Statement } from '../../../store/write/contract.ts'
import { issueToken, replaceIdentities, withdrawTokens } from '../../../store/write/tokens.ts'
import type { Command } from '../../command.ts'
import { eachPart, wholeOrInParts } from '../../command-parts.ts'
import { ensureChild, isEnded, parentName } from '../../devices.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import { assignIdentities, type IdentityHolder, identitiesOf, identitiesToStore, spiffeIdentity } from './identities.ts'
import { parentsOf, refuseCycles, refuseRetiredParents } from './parents.ts'

export interface DeviceRegistration extends IdentityHolder {
  /** Null: stays as it is. */
  readonly name: string | null
  readonly labels: readonly Label[] | null
  readonly parent: string | null
  /** Seconds. */
  readonly expectedInterval: number | null
  /** The hash of the token that the device gets if it has none. */
  readonly tokenHash: string
}

/** Per device: its key, whether the new token was taken (false: it was registered before), and whether it had been revoked or retired. */
type Registered = readonly { readonly key: number; readonly isNew: boolean; readonly wasEnded: boolean }[]

export function registerDevices(devices: readonly DeviceRegistration[]): Command<Registered> {
  const all = { parents: parentsOf(devices), names: new Set(devices.map(({ deviceId }) => deviceId)) }
  const whole = (): Command<Registered> => registerPart(devices, 0, all)
  return wholeOrInParts(devices, whole, async (write) =>
    (await eachPart(devices, (part, first) => write(registerPart(part, first, all)))).flat(),
  )
}

/** All devices of a command, of which a part is registered. */
interface AllRegistered {
  readonly parents: ReadonlyMap<string, string>
  readonly names: ReadonlySet<string>
}

/** `first`: the index of the first device in the command. */
function registerPart(devices: readonly DeviceRegistration[], first: number, all: AllRegistered): Command<Registered> {
  return {
    needs: {
      devices: devices.flatMap(namesOf),
      reporters: devices.map(({ deviceId }) => deviceId),
      ancestors: true,
      identities: devices.flatMap(identitiesOf),
    },
    *decide(work) {
      yield* refuseCycles(work, devices, first, all.parents)
      yield* refuseRetiredParents(work, devices, first)
      const holders = yield* assignIdentities(work, devices, first, all.names)
      const registered = yield* eachPaced(devices, (device) => register(work, device))
      for (const [id, name] of holders) work.giveIdentity(id, name === null ? null : work.device(name))
      return registered
    },
    statements: (registered) =>
      devices.flatMap((device, index) => {
        const made = registered[index]
        return made ? credentialsOf(device, made) : []
      }),
  }
}

/** The device, the gateway that its name begins with, and its parent. */
function namesOf({ deviceId, parent }: DeviceRegistration): string[] {
  const gateway = parentName(deviceId)
  return [deviceId, ...(gateway ? [gateway] : []), ...(parent ? [parent] : [])]
}

function register(work: UnitOfWork, registration: DeviceRegistration): Registered[number] {
  const { deviceId } = registration
  const parent = registration.parent ?? parentName(deviceId)
  const known = parent ? ensureChild(work, deviceId, parent) : work.ensureDevice(deviceId)
  const wasRetired = known.retiredAt !== null
  const wasEnded = isEnded(known)
  const isNew = !known.registered || wasEnded
  const next = {
    ...known,
    displayName: registration.name ?? known.displayName,
    labels: registration.labels ?? known.labels,
    expectedInterval: registration.expectedInterval ?? known.expectedInterval,
    parentKey: registration.parent ? work.ensureDevice(registration.parent).key : known.parentKey,
    registered: true,
    revokedAt: null,
    ...inService,
  }
  if (wasRetired) work.recordTarget(next, { kind: 'DEVICE_REINSTATED' }, null)
  else work.putTarget(next, 'changed')
  work.clearMarks(deviceId)
  return { key: known.key, isNew, wasEnded }
}

/** The stored credentials of a revoked or retired device are replaced: they must not become valid again. */
function credentialsOf(device: DeviceRegistration, { key, isNew, wasEnded }: Registered[number]): Statement[] {
  const { publicKeys, spiffeIds } = identitiesToStore(device, wasEnded)
  return [
    ...(wasEnded ? [withdrawTokens(key)] : []),
    ...(isNew ? [issueToken(device.tokenHash, key)] : []),
    ...(publicKeys ? replaceIdentities(key, 'keys', publicKeys) : []),
    ...(spiffeIds ? replaceIdentities(key, 'spiffeIds', spiffeIds.map(spiffeIdentity)) : []),
  ]
}
