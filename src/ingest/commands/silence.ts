/** Marks silent devices OFFLINE: only devices that must send heartbeats, and only if a server was listening. */
import type { Millis } from '../../domain/values.ts'
import type { Command } from '../command.ts'

/** Marks devices OFFLINE that are still silent when the command is decided. `listeningSince`: our own downtime is not their silence. */
export function markSilent(deviceIds: readonly string[], listeningSince: Millis): Command<{ readonly marked: number }> {
  return {
    needs: { devices: deviceIds },
    decide(work) {
      let marked = 0
      for (const deviceId of deviceIds) {
        const device = work.device(deviceId)
        const seconds = device?.expectedInterval ?? work.offlineAfter
        if (!device || seconds === null || device.lastHeardAt === null || device.connectivity === 'OFFLINE') continue
        if (device.retiredAt !== null) continue
        if (work.now - Math.max(device.lastHeardAt, listeningSince) <= seconds * 1000) continue
        const change = {
          kind: 'CONNECTIVITY_CHANGED',
          from: device.connectivity,
          to: 'OFFLINE',
          source: 'SILENCE',
        } as const
        work.recordTarget({ ...device, connectivity: 'OFFLINE' }, change, null)
        marked += 1
      }
      return { marked }
    },
  }
}
