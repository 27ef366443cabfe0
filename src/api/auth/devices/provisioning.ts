/**
 * Devices that an external issuer of tokens or certificates authenticates. A valid credential alone is not sufficient: the device must be
 * registered, or its first request registers it (DEVICE_PROVISION).
 */
import { provisionDevice } from '../../../ingest/commands/devices/provision.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Database } from '../../../store/database.ts'
import { findProvisioned } from '../../../store/read/device-credentials.ts'
import { createLookup } from './lookup.ts'
import { CredentialRefused, refuseEnded } from './refusal.ts'

interface VouchedDeps {
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  /** Whether the first request of an unregistered device registers it. */
  readonly provision: boolean
  /** Whether clients of several trust domains may have the same name, so that a device is known by its SPIFFE id only. */
  readonly needsId?: boolean | undefined
}

/** Returns the name of the device. Throws CredentialRefused. */
export type Admit = (device: string, spiffeId?: string) => Promise<string>

export function createAdmission({ database, writer, provision, needsId = false }: VouchedDeps): Admit {
  const find = createLookup((names) => findProvisioned(database.session, names))

  return async (device, spiffeId) => {
    const known = await find(device)
    if (known) refuseEnded(known)
    // The id may have been registered for this device since the lookup of the id.
    if (spiffeId !== undefined && known && known.spiffeIds.length > 0 && !known.spiffeIds.includes(spiffeId))
      throw new CredentialRefused('FORBIDDEN', 'unknown', `device ${device} is registered with another SPIFFE id`)
    if (known?.isRegistered && needsId && spiffeId !== undefined && !known.spiffeIds.includes(spiffeId))
      throw new CredentialRefused(
        'FORBIDDEN',
        'unknown',
        `device ${device} is registered without a SPIFFE id, and this server has several trust domains: register ${spiffeId} for it`,
      )
    if (known?.isRegistered) return device
    if (!provision)
      throw new CredentialRefused(
        'FORBIDDEN',
        'unknown',
        `device ${device} is not registered: register it with registerDevices, or let the first request register a device (DEVICE_PROVISION)`,
      )
    await writer.submit(provisionDevice(device, spiffeId ?? null))
    return device
  }
}
