/** LISTEN for the lifetime of the process. A lost connection is replaced. Each new connection first rings with null. */
import type { Revision } from '../../domain/values.ts'
import { accessChange, doorbellOf } from '../database.ts'
import type { Connection, Notified } from './connection.ts'

interface Doorbell {
  /** Resolves when it listens; rejects when the first attempt fails. */
  listen(ring: Ring): Promise<void>
  /** Calls `changed` when a credential of the API was withdrawn. */
  onAccessChange(changed: () => void): void
  /** Each message on another channel. */
  receive(channel: string, received: (message: string) => void): void
  close(): Promise<void>
}

type Ring = (revision: Revision | null) => void

const slowest = 1_000
/** Milliseconds between two looks whether the session is still ours: where it is not, nothing else says so. */
const checkInterval = 1_000

export function createDoorbell(schema: string, open: (notified: Notified) => Connection): Doorbell {
  const feed = doorbellOf(schema)
  let connection: Connection | null = null
  let accessChanged = (): void => {}
  const receivers = new Map<string, (message: string) => void>()
  let retry: NodeJS.Timeout | undefined
  let checking: NodeJS.Timeout | undefined
  let isClosed = false

  async function connect(ring: Ring): Promise<void> {
    const mine = open((payload, channel) => {
      if (channel !== feed) receivers.get(channel)?.(payload)
      else if (payload === accessChange) accessChanged()
      else ring(Number(payload))
    })
    connection = mine
    try {
      await mine.run(`listen ${feed}`)
      for (const channel of receivers.keys()) await mine.run(`listen "${channel}"`)
    } catch (error) {
      await mine.close()
      throw error
    }
    checking = setInterval(() => void mine.check().catch(() => undefined), checkInterval)
    mine.onLost(() => {
      clearInterval(checking)
      again(ring, 0)
    })
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
    receive(channel, received) {
      receivers.set(channel, received)
      // If this fails, the connection is lost, and the next connection listens on the channel.
      void connection?.run(`listen "${channel}"`).catch(() => undefined)
    },
    async close() {
      isClosed = true
      clearTimeout(retry)
      clearInterval(checking)
      await connection?.close()
    },
  }
}
