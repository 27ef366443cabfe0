/** LISTEN, for as long as the process lives: a connection that is lost is followed by another, and each rings with null first. */
import type { Revision } from '../../domain/values.ts'
import { accessChannel, doorbellChannel } from '../database.ts'
import type { Connection, Notified } from './connection.ts'

export interface Doorbell {
  /** Resolves when it listens; rejects when the first attempt fails. */
  listen(ring: Ring): Promise<void>
  /** Who is told that a credential of the API was withdrawn. */
  onAccessChange(changed: () => void): void
  close(): Promise<void>
}

type Ring = (revision: Revision | null) => void

const slowest = 1_000

export function createDoorbell(open: (notified: Notified) => Connection): Doorbell {
  let connection: Connection | null = null
  let accessChanged = (): void => {}
  let retry: NodeJS.Timeout | undefined
  let isClosed = false

  async function connect(ring: Ring): Promise<void> {
    const mine = open((payload, channel) => (channel === accessChannel ? accessChanged() : ring(Number(payload))))
    connection = mine
    try {
      await mine.run(`listen ${doorbellChannel}`)
      await mine.run(`listen ${accessChannel}`)
    } catch (error) {
      await mine.close()
      throw error
    }
    mine.onLost(() => again(ring, 0))
    if (isClosed) return
    ring(null)
    accessChanged()
  }

  function again(ring: Ring, failures: number): void {
    if (isClosed) return
    const pause = Math.min(50 * 2 ** failures, slowest)
    retry = setTimeout(() => connect(ring).catch(() => again(ring, failures + 1)), pause)
  }

  return {
    listen: connect,
    onAccessChange(changed) {
      accessChanged = changed
    },
    async close() {
      isClosed = true
      clearTimeout(retry)
      await connection?.close()
    },
  }
}
