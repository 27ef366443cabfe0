/** Operators' commands for devices. They are not changes of the feed, but are ordered with the reports. */
import { DomainError } from '../../domain/errors.ts'
import { inService, type Label, type Target } from '../../domain/target.ts'
import { noMarks } from '../../domain/transition/order.ts'
import { eachPaced, type Paced } from '../../limits/pace.ts'
import type { Proof } from '../../store/signature-claims.ts'
import type { Statement } from '../../store/write/contract.ts'
import {
  addIdentity,
  expireTokens,
  issueToken,
  type NewIdentity,
  replaceIdentities,
  withdrawTokens,
} from '../../store/write/tokens.ts'
import { type Command, eachPart, inParts, partSize } from '../command.ts'
import { ensureChild, newParent, parentName, refuseEnded, requireDevice } from '../devices.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { parentsOf, refuseCycles, refuseRetiredParents } from './parents.ts'

export interface DeviceRegistration {
  readonly deviceId: string
  /** Null: stays as it is. */
  readonly name: string | null
  readonly labels: readonly Label[] | null
  readonly parent: string | null
  /** Seconds. */
  readonly expectedInterval: number | null
  /** The keys that the device signs its messages with. */
  readonly publicKeys?: readonly NewIdentity[] | null
  readonly spiffeIds?: readonly string[] | null
  /** The hash of the token that the device gets if it has none. */
  readonly tokenHash: string
}

/** Per device: its key, whether the new token was taken (false: it was registered before), and whether it had been revoked or retired. */
type Registered = readonly { readonly key: number; readonly isNew: boolean; readonly wasEnded: boolean }[]

export function registerDevices(devices: readonly DeviceRegistration[]): Command<Registered> {
  const all = { parents: parentsOf(devices), names: new Set(devices.map(({ deviceId }) => deviceId)) }
  if (devices.length <= partSize) return registerPart(devices, 0, all)
  return inParts(async (write) =>
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
      devices: devices.flatMap(({ deviceId, parent }) => [
        deviceId,
        ...ancestors(deviceId),
        ...(parent ? [parent] : []),
      ]),
      reporters: devices.map(({ deviceId }) => deviceId),
      ancestors: true,
      identities: devices.flatMap(identitiesOf),
    },
    *decide(work) {
      yield* refuseCycles(work, devices, first, all.parents)
      yield* refuseRetiredParents(work, devices, first)
      const holders = yield* assignIdentities(work, devices, first, all)
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

/** The stored credentials of a revoked or retired device are replaced: they must not become valid again. */
function credentialsOf(device: DeviceRegistration, { key, isNew, wasEnded }: Registered[number]): Statement[] {
  const { publicKeys, spiffeIds } = afterEnd(device, wasEnded)
  return [
    ...(wasEnded ? [withdrawTokens(key)] : []),
    ...(isNew ? [issueToken(device.tokenHash, key)] : []),
    ...(publicKeys ? replaceIdentities(key, 'keys', publicKeys) : []),
    ...(spiffeIds ? replaceIdentities(key, 'spiffeIds', spiffeIds.map(spiffeIdentity)) : []),
  ]
}

function isEnded({ revokedAt, retiredAt }: Target): boolean {
  return revokedAt !== null || retiredAt !== null
}

function afterEnd({ publicKeys, spiffeIds }: DeviceRegistration, wasEnded: boolean) {
  const none = wasEnded ? [] : null
  return { publicKeys: publicKeys ?? none, spiffeIds: spiffeIds ?? none }
}

function spiffeIdentity(id: string): NewIdentity {
  return { id, publicKey: null }
}

function identitiesOf({ publicKeys, spiffeIds }: DeviceRegistration): string[] {
  return [...(publicKeys ?? []).map(({ id }) => id), ...(spiffeIds ?? [])]
}

/**
 * The device that holds each identity afterwards. Null: none. In order: a later device may take an identity that an earlier one gave up.
 * Decided before any device is registered, because a refused command must not register some of them.
 */
function* assignIdentities(
  work: UnitOfWork,
  devices: readonly DeviceRegistration[],
  first: number,
  { names: returning }: AllRegistered,
): Paced<ReadonlyMap<string, string | null>> {
  const before = Map.groupBy(devices.flatMap(identitiesOf), (id) => work.holderOf(id)?.name)
  const holders = new Map<string, string | null>()
  yield* eachPaced(devices, (device, index) => {
    const { deviceId } = device
    const known = work.device(deviceId)
    const lists = afterEnd(device, known !== null && isEnded(known))
    for (const id of before.get(deviceId) ?? [])
      if ((isSpiffeId(id) ? lists.spiffeIds : lists.publicKeys) !== null) holders.set(id, null)
    for (const id of identitiesOf(device)) {
      const holder = holders.get(id) === undefined ? (work.holderOf(id)?.name ?? null) : (holders.get(id) ?? null)
      // A replacement may take the identities of a retired device.
      const isTaken = holder !== null && (returning.has(holder) || (work.device(holder)?.retiredAt ?? null) === null)
      if (isTaken && holder !== deviceId) throw heldByAnother(id, holder, `devices[${first + index}]`)
      holders.set(id, deviceId)
    }
  })
  return holders
}

function isSpiffeId(identity: string): boolean {
  return identity.startsWith('spiffe:')
}

function heldByAnother(id: string, holder: string, at: string): DomainError {
  const [what, field] = isSpiffeId(id) ? ['the SPIFFE id', 'spiffeIds'] : ['the public key', 'publicKeys']
  const message = `${what} ${id} is that of device ${holder}: take it from there first`
  return new DomainError('CONFLICT', message, { problems: [{ field: `${at}.${field}`, message }] })
}

/** Registers an unknown device for which a trusted caller vouches. */
export function provisionDevice(deviceId: string, spiffeId: string | null): Command<{ key: number }> {
  return {
    needs: {
      devices: [deviceId, ...ancestors(deviceId)],
      ...(spiffeId !== null && { identities: [spiffeId] }),
    },
    decide(work) {
      const holder = spiffeId === null ? null : work.holderOf(spiffeId)
      if (holder && holder.name !== deviceId)
        throw new DomainError('FORBIDDEN', `the SPIFFE id ${spiffeId} is that of device ${holder.name}`)
      const known = work.device(deviceId)
      const parent = parentName(deviceId)
      refuseEnded(known, parent ? newParent(work, deviceId, parent) : null)
      // Another device is registered under this name.
      if (known?.registered && spiffeId !== null && !holder)
        throw new DomainError('FORBIDDEN', `device ${deviceId} is registered, and not known by ${spiffeId}`)
      const device = parent ? ensureChild(work, deviceId, parent) : work.ensureDevice(deviceId)
      if (!device.registered) work.putTarget({ ...device, registered: true }, 'changed')
      if (spiffeId !== null) work.giveIdentity(spiffeId, device)
      return { key: device.key }
    },
    statements: ({ key }) => (spiffeId === null ? [] : [addIdentity(key, spiffeIdentity(spiffeId))]),
  }
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
  clearMarks(work, deviceId)
  return { key: known.key, isNew, wasEnded }
}

function ancestors(deviceId: string): string[] {
  const parent = parentName(deviceId)
  return parent ? [parent] : []
}

/** The old tokens stay valid for `overlapSeconds`. */
export function rotateToken(deviceId: string, tokenHash: string, overlapSeconds: number): Command<{ key: number }> {
  return {
    needs: { devices: [deviceId] },
    decide(work) {
      const { key, retiredAt } = requireDevice(work, deviceId)
      if (retiredAt === null) return { key }
      const message = `device ${deviceId} is retired: registerDevices puts it in service again, with a new token`
      throw new DomainError('INVALID_REQUEST', message, { problems: [{ field: 'deviceId', message }] })
    },
    statements: ({ key }) => [expireTokens(key, overlapSeconds), issueToken(tokenHash, key)],
  }
}

/** Refuses reports from the device and about it from now on. Its credentials are kept, so that a refusal can give the revocation as its reason. */
export function revokeDevice(deviceId: string): Command<{ key: number }> {
  return {
    needs: { devices: [deviceId] },
    decide(work) {
      const device: Target = requireDevice(work, deviceId)
      work.putTarget({ ...device, revokedAt: device.revokedAt ?? work.now }, 'changed')
      return { key: device.key }
    },
  }
}

/** Accepts its next report as the newest, for a reporter with a wrong clock or counter. */
export function resetReporterOrder(reporter: string): Command<{ key: number; deployments: number }> {
  return {
    needs: { devices: [reporter], reporters: [reporter] },
    decide(work) {
      const { key } = requireDevice(work, reporter, 'reporter')
      return { key, deployments: clearMarks(work, reporter) }
    },
  }
}

function clearMarks(work: UnitOfWork, reporter: string): number {
  const deployments = work.deploymentsOf(reporter)
  for (const known of deployments) {
    const deployment = { ...known, marks: noMarks }
    work.apply(known, { verdict: 'UNCHANGED', staleBy: null, deployment, changes: [] }, null)
  }
  return deployments.length
}

/** Writes the command and marks its signed message as used: both or neither. */
export function spending<Result>(command: Command<Result>, proof: Proof | null): Command<Result> {
  if (!proof) return command
  return { ...command, proof, ...(command.portable && { portable: { ...command.portable, proof } }) }
}

/** The last command of a backlog of several commands. */
export function spend(proof: Proof): Command<null> {
  return spending({ needs: {}, decide: () => null }, proof)
}
