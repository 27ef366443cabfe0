import type { Server } from 'node:http'
import { within } from '../platform/timing/within.ts'

/** The connections of callers. They end after the writer has answered what it has accepted. */
export function createConnections() {
  let server: Server | null = null
  let isClosing = false
  let closed: Promise<void> = Promise.resolve()
  return {
    isClosing: () => isClosing,
    use(created: Server): void {
      server = created
    },
    /** Accepts no more of them. */
    refuse(): void {
      isClosing = true
      closed = new Promise((resolve) => server?.close(() => resolve()))
    },
    async end(): Promise<void> {
      server?.closeIdleConnections()
      await within(1_000, closed)
      server?.closeAllConnections()
    },
  }
}
