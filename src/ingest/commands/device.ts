/** What operators do with devices: none of it is a change of the feed, all of it is ordered with the reports. */
import { type Millis, noMarks } from '../../domain/deployment.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Label, Target } from '../../domain/target.ts'
import {
  addIdentity,
  expireTokens,
  issueToken,
  type NewIdentity,
  replaceIdentities,
  spendSignature,
  withdrawTokens,
} from '../../store/tokens.ts'
import type { Command, Statement } from '../command.ts'
import { ensureChild, parentName, requireDevice } from '../devices.ts'
import type { World } from '../world.ts'

export interface DeviceRegistration {
  readonly deviceId: string
  /** Null: stays as it is. */
  readonly name: string | null
  readonly labels: readonly Label[] | null
  readonly parent: string | null
  /** Seconds. */
  readonly expectedInterval: number | null
  /** What its messages are signed with. */
  readonly publicKeys?: readonly NewIdentity[] | null
  readonly spiffeIds?: readonly string[] | null
  /** Of the token that the device gets if it has none yet. */
  readonly tokenHash: string
}

/** Of a signed message: what tells it from others, and until when it would be good. */
export interface Proof {
  readonly id: string
  readonly until: Millis
}

/** Per device: its key, whether the new token was taken (false: it was registered before), and whether it had been revoked. */
export type Registered = readonly { readonly key: number; readonly isNew: boolean; readonly wasRevoked: boolean }[]

export function registerDevices(devices: readonly DeviceRegistration[]): Command<Registered> {
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
    decide(world) {
      refuseCycles(world, devices)
      const registered = devices.map((device) => register(world, device))
      giveIdentities(world, devices, registered)
      return registered
    },
    also: (registered) =>
      devices.flatMap((device, index) => {
        const made = registered[index]
        return made ? credentialsOf(device, made) : []
      }),
  }
}

/** A revoked device's old ones, which were kept to know it by, are not good again. */
function credentialsOf(device: DeviceRegistration, { key, isNew, wasRevoked }: Registered[number]): Statement[] {
  const { publicKeys, spiffeIds } = afterRevocation(device, wasRevoked)
  return [
    ...(wasRevoked ? [withdrawTokens(key)] : []),
    ...(isNew ? [issueToken(device.tokenHash, key)] : []),
    ...(publicKeys ? replaceIdentities(key, 'keys', publicKeys) : []),
    ...(spiffeIds ? replaceIdentities(key, 'spiffeIds', spiffeIds.map(spiffeIdentity)) : []),
  ]
}

function afterRevocation({ publicKeys, spiffeIds }: DeviceRegistration, wasRevoked: boolean) {
  const none = wasRevoked ? [] : null
  return { publicKeys: publicKeys ?? none, spiffeIds: spiffeIds ?? none }
}

function spiffeIdentity(id: string): NewIdentity {
  return { id, publicKey: null }
}

function identitiesOf({ publicKeys, spiffeIds }: DeviceRegistration): string[] {
  return [...(publicKeys ?? []).map(({ id }) => id), ...(spiffeIds ?? [])]
}

/** In their order: what one gives away with its new list, another one after it may take. */
function giveIdentities(world: World, devices: readonly DeviceRegistration[], registered: Registered): void {
  const before = Map.groupBy(devices.flatMap(identitiesOf), (id) => world.holderOf(id)?.key)
  devices.forEach((device, index) => {
    const { key = -1, wasRevoked = false } = registered[index] ?? {}
    const lists = afterRevocation(device, wasRevoked)
    for (const id of before.get(key) ?? [])
      if ((isSpiffeId(id) ? lists.spiffeIds : lists.publicKeys) !== null) world.giveIdentity(id, null)
    for (const id of identitiesOf(device)) {
      const holder = world.holderOf(id)
      if (holder && holder.key !== key) throw heldByAnother(id, holder, `devices[${index}]`)
      world.giveIdentity(id, world.targetByKey(key))
    }
  })
}

function isSpiffeId(identity: string): boolean {
  return identity.startsWith('spiffe:')
}

function heldByAnother(id: string, holder: Target, at: string): DomainError {
  const [what, field] = isSpiffeId(id) ? ['the SPIFFE id', 'spiffeIds'] : ['the public key', 'publicKeys']
  const message = `${what} ${id} is that of device ${holder.name}: take it from there first`
  return new DomainError('CONFLICT', message, { problems: [{ field: `${at}.${field}`, message }] })
}

/** A device that nobody has registered, but whom somebody vouches for who may: it is registered from now on. */
export function provisionDevice(deviceId: string, spiffeId: string | null): Command<{ key: number }> {
  return {
    needs: {
      devices: [deviceId, ...ancestors(deviceId)],
      ...(spiffeId !== null && { identities: [spiffeId] }),
    },
    decide(world) {
      const holder = spiffeId === null ? null : world.holderOf(spiffeId)
      if (holder && holder.name !== deviceId)
        throw new DomainError('FORBIDDEN', `the SPIFFE id ${spiffeId} is that of device ${holder.name}`)
      const known = world.device(deviceId)
      if (known?.revokedAt != null) throw new DomainError('FORBIDDEN', `device ${deviceId} has been revoked`)
      // Another came first under its name.
      if (known?.registered && spiffeId !== null && !holder)
        throw new DomainError('FORBIDDEN', `device ${deviceId} is registered, and not known by ${spiffeId}`)
      const parent = parentName(deviceId)
      const device = parent ? ensureChild(world, deviceId, parent) : world.ensureDevice(deviceId)
      if (!device.registered) world.putTarget({ ...device, registered: true }, 'changed')
      if (spiffeId !== null) world.giveIdentity(spiffeId, device)
      return { key: device.key }
    },
    also: ({ key }) => (spiffeId === null ? [] : [addIdentity(key, spiffeIdentity(spiffeId))]),
  }
}

function register(world: World, registration: DeviceRegistration): Registered[number] {
  const { deviceId } = registration
  const parent = registration.parent ?? parentName(deviceId)
  const known = parent ? ensureChild(world, deviceId, parent) : world.ensureDevice(deviceId)
  const wasRevoked = known.revokedAt !== null
  const isNew = !known.registered || wasRevoked
  world.putTarget(
    {
      ...known,
      displayName: registration.name ?? known.displayName,
      labels: registration.labels ?? known.labels,
      expectedInterval: registration.expectedInterval ?? known.expectedInterval,
      parentKey: registration.parent ? world.ensureDevice(registration.parent).key : known.parentKey,
      registered: true,
      revokedAt: null,
    },
    'changed',
  )
  clearMarks(world, deviceId)
  return { key: known.key, isNew, wasRevoked }
}

function refuseCycles(world: World, devices: readonly DeviceRegistration[]): void {
  const parents = new Map(devices.flatMap(({ deviceId, parent }) => (parent ? [[deviceId, parent]] : [])))
  devices.forEach(({ deviceId, parent }, index) => {
    const seen = new Set([deviceId])
    for (let at = parent; at; at = parents.get(at) ?? knownParent(world, at)) {
      if (seen.has(at)) {
        const message = `${parent} is below ${deviceId}, so it cannot be its parent`
        throw new DomainError('CONFLICT', message, { problems: [{ field: `devices[${index}].parent`, message }] })
      }
      seen.add(at)
    }
  })
}

function knownParent(world: World, name: string): string | null {
  const parentKey = world.device(name)?.parentKey ?? null
  return parentKey === null ? null : (world.findTarget(parentKey)?.name ?? null)
}

function ancestors(deviceId: string): string[] {
  const parent = parentName(deviceId)
  return parent ? [parent] : []
}

/** The old tokens stay good for `overlapSeconds`. */
export function rotateToken(deviceId: string, tokenHash: string, overlapSeconds: number): Command<{ key: number }> {
  return {
    needs: { devices: [deviceId] },
    decide: (world) => ({ key: requireDevice(world, deviceId).key }),
    also: ({ key }) => [expireTokens(key, overlapSeconds), issueToken(tokenHash, key)],
  }
}

/** From now on nothing it reports, or that is reported for it, is taken. Its credentials are kept: who shows one is told that it was revoked. */
export function revokeDevice(deviceId: string): Command<{ key: number }> {
  return {
    needs: { devices: [deviceId] },
    decide(world) {
      const device: Target = requireDevice(world, deviceId)
      world.putTarget({ ...device, revokedAt: device.revokedAt ?? world.now }, 'changed')
      return { key: device.key }
    },
  }
}

/** Whatever it reports next is the newest: for a reporter whose clock or counter went wrong. */
export function resetReporterOrder(reporter: string): Command<{ key: number; deployments: number }> {
  return {
    needs: { devices: [reporter], reporters: [reporter] },
    decide(world) {
      const { key } = requireDevice(world, reporter)
      return { key, deployments: clearMarks(world, reporter) }
    },
  }
}

function clearMarks(world: World, reporter: string): number {
  const deployments = world.deploymentsOf(reporter)
  for (const known of deployments) {
    const deployment = { ...known, marks: noMarks }
    world.commit(known, { verdict: 'UNCHANGED', staleBy: null, deployment, changes: [] }, null)
  }
  return deployments.length
}

/** The command, and from then on the message that asked for it is not good again: both or neither. */
export function spending<Result>(command: Command<Result>, proof: Proof | null): Command<Result> {
  if (!proof) return command
  return { ...command, also: (result) => [...(command.also?.(result) ?? []), spendSignature(proof.id, proof.until)] }
}

/** What a backlog of several commands ends with. */
export function spend(proof: Proof): Command<null> {
  return spending({ needs: {}, decide: () => null }, proof)
}
