/**
 * Devices for whom somebody else vouches: an issuer of tokens, or a certificate authority. A good word alone lets nobody in: the device
 * is registered here, or may come unannounced (DEVICE_PROVISION) and is registered by coming.
 */
import { provisionDevice } from '../../ingest/commands/device.ts'
import type { Writer } from '../../ingest/writer.ts'
import type { Database } from '../../store/database.ts'
import { findProvisioned } from '../../store/read/device-credentials.ts'
import { createLookup } from './lookup.ts'
import { CredentialRefused, refuseEnded } from './refusal.ts'

export interface VouchedDeps {
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  /** Whether a device may come that nobody has registered. */
  readonly provision: boolean
}

/** Its name, or CredentialRefused. */
export type Admit = (device: string, spiffeId?: string) => Promise<string>

export function createAdmission({ database, writer, provision }: VouchedDeps): Admit {
  const find = createLookup((names) => findProvisioned(database.session, names))

  return async (device, spiffeId) => {
    const known = await find(device)
    if (known) refuseEnded(known)
    // It may have become its own since it was looked for.
    if (spiffeId !== undefined && known && known.spiffeIds.length > 0 && !known.spiffeIds.includes(spiffeId))
      throw new CredentialRefused('FORBIDDEN', 'unknown', `device ${device} is known by another SPIFFE id`)
    if (known?.isRegistered) return device
    if (!provision)
      throw new CredentialRefused(
        'FORBIDDEN',
        'unknown',
        `device ${device} is not registered: register it with registerDevices, or let devices come unannounced (DEVICE_PROVISION)`,
      )
    await writer.submit(provisionDevice(device, spiffeId ?? null))
    return device
  }
}
