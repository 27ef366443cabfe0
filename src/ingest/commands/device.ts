/** What operators do with devices: none of it is a change of the feed, all of it is ordered with the reports. */
import { noMarks } from '../../domain/deployment.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Label, Target } from '../../domain/target.ts'
import { expireTokens, issueToken, withdrawTokens } from '../../store/tokens.ts'
import type { Command } from '../command.ts'
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
  /** Of the token that the device gets if it has none yet. */
  readonly tokenHash: string
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
    },
    decide(world) {
      refuseCycles(world, devices)
      return devices.map((device) => register(world, device))
    },
    also: (registered) =>
      devices.flatMap(({ tokenHash }, index) => {
        const made = registered[index]
        if (!made?.isNew) return []
        // A revoked device's old tokens, which were kept to know it by, are not good again.
        return [...(made.wasRevoked ? [withdrawTokens(made.key)] : []), issueToken(tokenHash, made.key)]
      }),
  }
}

/** A device that nobody has registered, but whom somebody vouches for who may: it is registered from now on. */
export function provisionDevice(deviceId: string): Command<null> {
  return {
    needs: { devices: [deviceId, ...ancestors(deviceId)] },
    decide(world) {
      const known = world.device(deviceId)
      if (known?.revokedAt != null) throw new DomainError('FORBIDDEN', `device ${deviceId} has been revoked`)
      const parent = parentName(deviceId)
      const device = parent ? ensureChild(world, deviceId, parent) : world.ensureDevice(deviceId)
      if (!device.registered) world.putTarget({ ...device, registered: true }, 'changed')
      return null
    },
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
