import { DomainError } from '../../../domain/errors.ts'
import { addIdentity } from '../../../store/write/tokens.ts'
import type { Command } from '../../command.ts'
import { ensureChild, newParent, parentName, refuseEnded } from '../../devices.ts'
import { spiffeIdentity } from './identities.ts'

/** Registers an unknown device for which a trusted caller vouches. */
export function provisionDevice(deviceId: string, spiffeId: string | null): Command<{ key: number }> {
  const parent = parentName(deviceId)
  return {
    needs: {
      devices: [deviceId, ...(parent ? [parent] : [])],
      ...(spiffeId !== null && { identities: [spiffeId] }),
    },
    decide(work) {
      const holder = spiffeId === null ? null : work.holderOf(spiffeId)
      if (holder && holder.name !== deviceId)
        throw new DomainError('FORBIDDEN', `the SPIFFE id ${spiffeId} is that of device ${holder.name}`)
      const known = work.device(deviceId)
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
