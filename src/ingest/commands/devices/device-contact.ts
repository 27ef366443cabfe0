/**
 * What all statements of a device about itself or about a device behind it have in common: who may make them, that they make the device known, and
 * that each is a sign of life. They are not changes of the feed.
 */
import type { Millis } from '../../../domain/values.ts'
import type { SmallCommand } from '../../command.ts'
import { ensureChild, newParent, parentName, refuseEnded, refuseStrangers } from '../../devices.ts'
import { hearKnown } from '../connectivity.ts'

/** `key`: of the device. */
export interface Contact {
  readonly key: number
  readonly at: Millis
}

/** `caller`: the device of the credential. Null: no credential was required. */
export function contactOf(device: string, reporter: string, caller: string | null): SmallCommand<Contact> {
  const parent = parentName(device)
  return {
    needs: {
      devices: [device, reporter, ...(parent ? [parent] : []), ...(caller === null ? [] : [caller])],
      ...(caller !== null && { ancestors: true }),
    },
    decide(work) {
      if (caller !== null) refuseStrangers(work, caller, [reporter, device])
      refuseEnded(work.device(reporter), work.device(device), caller === null ? null : work.device(caller))
      if (parent) refuseEnded(newParent(work, device, parent))
      const { key } = parent ? ensureChild(work, device, parent) : work.ensureDevice(device)
      hearKnown(work, caller ?? reporter)
      return { key, at: work.now }
    },
  }
}
