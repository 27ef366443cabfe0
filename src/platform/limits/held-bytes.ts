/** A budget of bytes in memory, for all connections and for each address. */
import type { Refuse } from './limits.ts'

export interface HeldBytes {
  /** Adds bytes to the count of this address. Throws UNAVAILABLE above the budget. */
  hold(network: string, bytes: number): void
  release(network: string, bytes: number): void
}

/** The first bytes of each body and message are not counted. Nearly every report is smaller, and a connection's own buffers are as large. */
export const uncounted = 16 << 10
/** Fraction of the total that one address may hold. */
export const shareOfOne = 1 / 4

export function createHeldBytes(total: number, refuse: Refuse): HeldBytes {
  let held = 0
  const heldBy = new Map<string, number>()
  return {
    hold(network, bytes) {
      const own = (heldBy.get(network) ?? 0) + bytes
      if (held + bytes > total || own > total * shareOfOne) {
        const message = 'too many bytes of unfinished requests are in memory: retry later, or send smaller requests'
        throw refuse('bufferedBytes', message, { retryAfterSeconds: 2 })
      }
      held += bytes
      heldBy.set(network, own)
    },
    release(network, bytes) {
      held -= bytes
      const left = (heldBy.get(network) ?? 0) - bytes
      if (left > 0) heldBy.set(network, left)
      else heldBy.delete(network)
    },
  }
}
