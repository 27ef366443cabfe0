import type { Command } from '../../command.ts'
import { requireDevice } from '../../devices.ts'

/** Refuses reports from the device and about it from now on. Its credentials are kept, so that a refusal can give the revocation as its reason. */
export function revokeDevice(deviceId: string): Command<{ key: number }> {
  return {
    needs: { devices: [deviceId] },
    decide(work) {
      const device = requireDevice(work, deviceId)
      work.putTarget({ ...device, revokedAt: device.revokedAt ?? work.now }, 'changed')
      return { key: device.key }
    },
  }
}
