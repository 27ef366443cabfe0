/** LISTEN, for as long as the process lives: a connection that is lost is followed by another, and each rings with null first. */
import type { Revision } from '../domain/deployment.ts'
import type { Connection } from './connection.ts'
import { doorbellChannel } from './database.ts'

export interface Doorbell {
  /** Resolves when it listens; rejects when the first attempt fails. */
  listen(ring: Ring): Promise<void>
  close(): Promise<void>
}

type Ring = (revision: Revision | null) => void

const slowest = 1_000

export function createDoorbell(open: (notified: (payload: string) => void) => Connection): Doorbell {
  let connection: Connection | null = null
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  async function connect(ring: Ring): Promise<void> {
    const mine = open((payload) => ring(Number(payload)))
    connection = mine
    try {
      await mine.run(`listen ${doorbellChannel}`)
    } catch (error) {
      await mine.close()
      throw error
    }
    mine.onLost(() => again(ring, 0))
    if (!isClosed) ring(null)
  }

  function again(ring: Ring, failures: number): void {
    if (isClosed) return
    const pause = Math.min(50 * 2 ** failures, slowest)
    retry = setTimeout(() => connect(ring).catch(() => again(ring, failures + 1)), pause)
  }

  return {
    listen: connect,
    async close() {
      isClosed = true
      clearTimeout(retry)
      await connection?.close()
    },
  }
}
