/** Requests for a WebSocket. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

export function acceptUpgrades(
  server: Pick<Server, 'on'>,
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
  isClosing: () => boolean,
): void {
  server.on('upgrade', (request, socket, head) => {
    // Node gives an upgrading socket no error listener, so a reset would end the process.
    socket.on('error', () => undefined)
    const [path] = (request.url ?? '').split('?')
    const refusal =
      path !== '/graphql' ? '404 Not Found' : isClosing() ? '503 Service Unavailable\r\nRetry-After: 2' : null
    if (refusal === null) upgrade(request, socket, head)
    else refuseUpgrade(socket, refusal)
  })
}

/** Milliseconds in which the client has to read the refusal. */
const readingTime = 5_000

/** Node does not look after an upgrading socket: without this, one that the client never closes would stay open. */
export function refuseUpgrade(socket: Duplex, status: string): void {
  const late = setTimeout(() => socket.destroy(), readingTime).unref()
  socket.once('close', () => clearTimeout(late))
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
}
