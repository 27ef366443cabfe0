/** A pool of a limited number of connections. A caller that finds none waits for a limited time. */
import type { Connection } from './connection.ts'
import { StatementError } from './failure.ts'
import { createTimeout, type Timeout } from './timeout.ts'

interface ConnectionPool {
  /** `signal`: aborted when the caller no longer waits. */
  take(signal?: AbortSignal): Promise<Connection>
  /** A lost connection is dropped, and a worn one is closed. */
  give(connection: Connection): void
  close(): Promise<void>
}

interface PoolOptions {
  readonly size: number
  /** Milliseconds to wait for a connection at most. */
  readonly timeout: number
}

interface Waiting {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: unknown) => void
  readonly timeout: Timeout
}

export function createPool(open: () => Connection, { size, timeout }: PoolOptions): ConnectionPool {
  const all = new Set<Connection>()
  const idle: Connection[] = []
  const waiting: Waiting[] = []
  let isClosed = false

  function opened(): Connection {
    const connection = open()
    all.add(connection)
    // A lost connection that is never released must not occupy a place.
    connection.onLost(() => {
      all.delete(connection)
      const place = idle.indexOf(connection)
      if (place >= 0) idle.splice(place, 1)
      next()
    })
    return connection
  }

  /** Serves the caller that has waited longest. */
  function next(): void {
    if (waiting.length === 0 || isClosed) return
    const connection = idle.pop() ?? (all.size < size ? opened() : null)
    if (!connection) return
    const first = waiting.shift()
    first?.timeout.end()
    first?.resolve(connection)
  }

  /** It keeps its place until it is closed: its last statement may be unanswered, and a server has a limited number of connections. */
  function retire(connection: Connection): void {
    const leave = (): void => {
      all.delete(connection)
      next()
    }
    connection.close().then(leave, leave)
  }

  return {
    take(signal) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (isClosed) return Promise.reject(new StatementError('the database is closed', '57P01'))
      return new Promise((resolve, reject) => {
        const giveUp = (reason: unknown): void => {
          const place = waiting.indexOf(entry)
          if (place < 0) return
          waiting.splice(place, 1)
          entry.timeout.end()
          reject(reason)
        }
        const inUse = (): void => giveUp(new StatementError('every connection to the database is in use', '53300'))
        const entry: Waiting = { resolve, reject, timeout: createTimeout(timeout, inUse) }
        waiting.push(entry)
        signal?.addEventListener('abort', () => giveUp(signal.reason), { once: true })
        next()
      })
    },
    give(connection) {
      if (connection.isLost || isClosed) return
      if (connection.isWorn) return retire(connection)
      idle.push(connection)
      next()
    },
    async close() {
      isClosed = true
      for (const { reject, timeout } of waiting.splice(0)) {
        timeout.end()
        reject(new StatementError('the database is closed', '57P01'))
      }
      await Promise.all([...all].map((connection) => connection.close()))
    },
  }
}
