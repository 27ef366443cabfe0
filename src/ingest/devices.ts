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

/** Whether a gateway may speak for it: it is the gateway itself or somewhere behind it, by its name or as it was registered. */
export function isBehind(world: World, name: string, gateway: string): boolean {
  const seen = new Set<string>()
  for (let at: string | null = name; at !== null && !seen.has(at); at = above(world, at)) {
    if (isNamedBehind(at, gateway)) return true
    seen.add(at)
  }
  return false
}

export function isNamedBehind(name: string, gateway: string): boolean {
  return name === gateway || name.startsWith(`${gateway}/`)
}

function above(world: World, name: string): string | null {
  const parentKey = world.device(name)?.parentKey ?? null
  return parentKey === null ? parentName(name) : (world.findTarget(parentKey)?.name ?? null)
}

export function requireDevice(world: World, name: string): Target {
  const device = world.device(name)
  if (!device) throw new DomainError('NOT_FOUND', `there is no device ${name}`)
  return device
}
