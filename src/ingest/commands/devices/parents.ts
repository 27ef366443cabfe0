/** The parents of devices that are registered: they form no cycle, and none of them is retired. */
import { DomainError } from '../../../domain/errors.ts'
import type { Paced } from '../../../platform/limits/pace.ts'
import { parentName } from '../../devices.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'

interface Placed {
  readonly deviceId: string
  readonly parent: string | null
}

/** Of all devices of a command that name one. */
export function parentsOf(devices: readonly Placed[]): ReadonlyMap<string, string> {
  return new Map(devices.flatMap(({ deviceId, parent }) => (parent ? [[deviceId, parent]] : [])))
}

/** A cycle through devices of several parts is found in the last of them, when the parents of the others are stored. */
export function* refuseCycles(
  work: UnitOfWork,
  devices: readonly Placed[],
  first: number,
  parents: ReadonlyMap<string, string>,
): Paced<void> {
  /** Devices above which there is no cycle. Without them, a chain of devices would be walked once for each device. */
  const cleared = new Set<string>()
  for (const [index, { deviceId, parent }] of devices.entries()) {
    const seen = new Set([deviceId])
    for (let at = parent; at && !cleared.has(at); at = parents.get(at) ?? knownParent(work, at)) {
      if (seen.has(at)) {
        const message = `${parent} is below ${deviceId}, so it cannot be its parent`
        throw new DomainError('CONFLICT', message, {
          problems: [{ field: `devices[${first + index}].parent`, message }],
        })
      }
      seen.add(at)
      yield
    }
    for (const name of seen) cleared.add(name)
    yield
  }
}

/** Every device below a retired device is retired too (retire.ts). */
export function* refuseRetiredParents(work: UnitOfWork, devices: readonly Placed[], first: number): Paced<void> {
  const returning = new Set<string>()
  for (const [index, { deviceId, parent }] of devices.entries()) {
    yield
    const name = parent ?? knownParent(work, deviceId) ?? parentName(deviceId)
    const above = name === null ? null : work.device(name)
    returning.add(deviceId)
    if (!above || above.retiredAt === null || returning.has(above.name)) continue
    const message = `${above.name}, which ${deviceId} would be behind, is retired: register it before, or name another parent`
    throw new DomainError('CONFLICT', message, { problems: [{ field: `devices[${first + index}].parent`, message }] })
  }
}

function knownParent(work: UnitOfWork, name: string): string | null {
  const parentKey = work.device(name)?.parentKey ?? null
  return parentKey === null ? null : (work.findTarget(parentKey)?.name ?? null)
}
