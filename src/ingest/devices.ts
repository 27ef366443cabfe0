import { DomainError } from '../domain/errors.ts'
import { retiredMessage, type Target } from '../domain/target.ts'
import type { UnitOfWork } from './unit-of-work/unit-of-work.ts'

/** The gateway in a hierarchical name ("gateway/child", Margo's deviceId). Null for a plain name. */
export function parentName(device: string): string | null {
  const cut = device.lastIndexOf('/')
  return cut > 0 ? device.slice(0, cut) : null
}

/** Places the device below its parent. A parent that is set stays: only a registration changes it. */
export function ensureChild(work: UnitOfWork, name: string, parent: string): Target {
  const child = work.ensureDevice(name)
  if (child.parentKey !== null) return child
  const placed = { ...child, parentKey: work.ensureDevice(parent).key }
  work.putTarget(placed, 'changed')
  return placed
}

/** Whether a gateway may report for the device: it is the gateway itself, or is behind it by name or by registration. */
export function isBehind(work: UnitOfWork, name: string, gateway: string): boolean {
  const seen = new Set<string>()
  for (let at: string | null = name; at !== null && !seen.has(at); at = above(work, at)) {
    if (isNamedBehind(at, gateway)) return true
    seen.add(at)
  }
  return false
}

export function isNamedBehind(name: string, gateway: string): boolean {
  return name === gateway || name.startsWith(`${gateway}/`)
}

function above(work: UnitOfWork, name: string): string | null {
  const parentKey = work.device(name)?.parentKey ?? null
  return parentKey === null ? parentName(name) : (work.findTarget(parentKey)?.name ?? null)
}

export function isEnded({ revokedAt, retiredAt }: Target): boolean {
  return revokedAt !== null || retiredAt !== null
}

/** Throws if the device is retired or revoked: nothing is accepted from it or about it. */
export function refuseEnded(...devices: readonly (Target | null)[]): void {
  const retired = devices.find((device) => device && device.retiredAt !== null)
  if (retired) throw new DomainError('DEVICE_RETIRED', retiredMessage(retired.name))
  const revoked = devices.find((device) => device && device.revokedAt !== null)
  if (revoked)
    throw new DomainError('FORBIDDEN', `device ${revoked.name} has been revoked: register it anew to let it report`)
}

/** The parent that ensureChild would set. Null: the device already has a parent, or the parent is unknown. */
export function newParent(work: UnitOfWork, name: string, parent: string): Target | null {
  const isPlaced = (work.device(name)?.parentKey ?? null) !== null
  return isPlaced ? null : work.device(parent)
}

/** `field`: the field of the command that has the name. */
export function requireDevice(work: UnitOfWork, name: string, field: 'deviceId' | 'reporter' = 'deviceId'): Target {
  const device = work.device(name)
  if (device) return device
  const message = `there is no device ${name}`
  throw new DomainError('NOT_FOUND', message, { problems: [{ field, message }] })
}

/** Throws unless the caller is each of these devices, or a gateway above it. */
export function refuseStrangers(work: UnitOfWork, caller: string, devices: readonly string[]): void {
  const stranger = devices.find((device) => !isBehind(work, device, caller))
  if (stranger !== undefined)
    throw new DomainError(
      'FORBIDDEN',
      `the credential is of ${caller}, which reports for itself and for devices behind it, and ${stranger} is not one of them: register it with the parent ${caller}, or for this credential`,
    )
}
