/** What every floor and peer does at its end: listens on a free port, says where, and ends on a signal. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export function listen(server: Server): void {
  server.keepAliveTimeout = 75_000
  server.listen(0, '127.0.0.1', () => tellReady((server.address() as AddressInfo).port))
}

export function tellReady(port: number): void {
  console.log(`listens on http://127.0.0.1:${port}`)
  process.on('SIGTERM', () => process.exit(0))
}
