/** A broker that breaks the rules of the protocol: it answers each packet as a test says. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { generate, type Packet, parser } from 'mqtt-packet'

export interface FaultyBroker {
  readonly url: string
  /** Packets that it has received, in order. */
  readonly received: readonly Packet[]
  /** Connections that it has now. */
  readonly sockets: ReadonlySet<Socket>
  send(socket: Socket, packet: Packet): boolean
  stop(): Promise<void>
}

/** `answer`: what a packet is answered with. Undefined: what a good broker answers. Null: nothing. */
export async function startFaultyBroker(
  answer: (packet: Packet, socket: Socket) => Packet | null | undefined = () => undefined,
): Promise<FaultyBroker> {
  const received: Packet[] = []
  const sockets = new Set<Socket>()
  const send = (socket: Socket, packet: Packet): boolean => socket.write(generate(packet, { protocolVersion: 5 }))
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    const reader = parser({ protocolVersion: 5 })
    reader.on('packet', (packet: Packet) => {
      received.push(packet)
      const own = answer(packet, socket)
      const reply = own === undefined ? usualAnswer(packet) : own
      if (reply) send(socket, reply)
    })
    socket.on('data', (chunk: Buffer) => reader.parse(chunk))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return {
    url: `mqtt://127.0.0.1:${port}`,
    received,
    sockets,
    send,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function usualAnswer(packet: Packet): Packet | null {
  switch (packet.cmd) {
    case 'connect':
      return { cmd: 'connack', reasonCode: 0, sessionPresent: false }
    case 'subscribe':
      return { cmd: 'suback', messageId: packet.messageId ?? 0, granted: packet.subscriptions.map(() => 1) }
    case 'unsubscribe':
      return { cmd: 'unsuback', messageId: packet.messageId ?? 0, granted: packet.unsubscriptions.map(() => 0) }
    case 'publish':
      return packet.qos === 1 ? { cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 } : null
    case 'pingreq':
      return { cmd: 'pingresp' }
    default:
      return null
  }
}
