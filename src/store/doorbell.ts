/** LISTEN, for as long as the process lives: a connection that is lost is followed by another, and each rings with null first. */
import type { Connection } from './connection.ts'
import { doorbellChannel } from './database.ts'

export interface Doorbell {
  /** Resolves when it listens; rejects when the first attempt fails. */
  listen(ring: (revision: number | null) => void): Promise<void>
  close(): Promise<void>
}

const slowest = 1_000

export function createDoorbell(open: (notified: (payload: string) => void) => Connection): Doorbell {
  let connection: Connection | null = null
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  async function connect(ring: (revision: number | null) => void, failures: number): Promise<void> {
    const mine = open((payload) => ring(Number(payload)))
    connection = mine
    await mine.run(`listen ${doorbellChannel}`)
    mine.onLost(() => again(ring, 0))
    ring(null)
    if (failures > 0 && isClosed) await mine.close()
  }

  function again(ring: (revision: number | null) => void, failures: number): void {
    if (isClosed) return
    retry = setTimeout(
      () => connect(ring, failures + 1).catch(() => again(ring, failures + 1)),
      Math.min(50 * 2 ** failures, slowest),
    )
  }

  return {
    listen: (ring) => connect(ring, 0),
    async close() {
      isClosed = true
      clearTimeout(retry)
      await connection?.close()
    },
  }
}
