import { DomainError } from '../domain/errors.ts'
import type { Target } from '../domain/target.ts'
import type { World } from './world.ts'

/** The gateway that a hierarchical name ("gateway/child", Margo's deviceId) begins with; null for a plain one. */
export function parentName(device: string): string | null {
  const cut = device.lastIndexOf('/')
  return cut > 0 ? device.slice(0, cut) : null
}

/** The device below its parent, which is set once and stays: only a registration changes it. */
export function ensureChild(world: World, name: string, parent: string): Target {
  const child = world.ensureDevice(name)
  if (child.parentKey !== null) return child
  const placed = { ...child, parentKey: world.ensureDevice(parent).key }
  world.putTarget(placed, 'changed')
  return placed
}

export function requireDevice(world: World, name: string): Target {
  const device = world.device(name)
  if (!device) throw new DomainError('NOT_FOUND', `there is no device ${name}`)
  return device
}
