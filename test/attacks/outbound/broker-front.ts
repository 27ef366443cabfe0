/** Stands in front of a broker (MQTT), and passes bytes on, or does what no broker does. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { generate, type Packet } from 'mqtt-packet'
import type { Random } from '../attacker/random.ts'
import type { Front } from './front.ts'

const of = (packet: Packet): Buffer => generate(packet, { protocolVersion: 5 })
const accepted = of({ cmd: 'connack', reasonCode: 0, sessionPresent: false })
const manyProperties = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`p${index}`, '']))
const publish = (payload: Buffer, properties = {}): Buffer =>
  of({ cmd: 'publish', topic: 't', payload, qos: 0, dup: false, retain: false, properties })

function flood(socket: Socket, bytes: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', more)
  more()
}

const brokerFaults: Readonly<Record<string, (socket: Socket, random: Random) => void>> = {
  silence() {},
  'an end': (socket) => void socket.end(),
  reset: (socket) => void socket.resetAndDestroy(),
  refusal: (socket, random) =>
    void socket.end(
      of({
        cmd: 'connack',
        reasonCode: random.choose([128, 132, 134, 135, 136, 137, 151, 255]),
        sessionPresent: false,
      }),
    ),
  'an end after CONNACK': (socket) => void socket.end(accepted),
  'silence after CONNACK': (socket) => void socket.write(accepted),
  'DISCONNECT after CONNACK': (socket, random) =>
    void socket.end(
      Buffer.concat([accepted, of({ cmd: 'disconnect', reasonCode: random.choose([0, 130, 142, 157]) })]),
    ),
  'odd bytes': (socket) => void socket.end(randomBytes(1_000)),
  'odd bytes after CONNACK': (socket) => void socket.end(Buffer.concat([accepted, randomBytes(1_000)])),
  'packets without end': (socket) => {
    socket.write(accepted)
    flood(socket, of({ cmd: 'pingresp' }))
  },
  'a large packet': (socket) => void socket.end(Buffer.concat([accepted, publish(Buffer.alloc(8 << 20))])),
  'many properties': (socket) =>
    void socket.end(Buffer.concat([accepted, publish(Buffer.alloc(0), { userProperties: manyProperties })])),
  'a packet that does not end': (socket) => {
    socket.write(accepted)
    socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]))
  },
  'acknowledgements of nothing': (socket) => {
    socket.write(accepted)
    flood(socket, of({ cmd: 'puback', messageId: 7, reasonCode: 0 }))
  },
  'odd limits': (socket, random) => {
    const properties = {
      receiveMaximum: random.choose([1, 65_535]),
      maximumPacketSize: random.choose([1, 20]),
      serverKeepAlive: 1,
      topicAliasMaximum: 65_535,
    }
    socket.write(of({ cmd: 'connack', reasonCode: 0, sessionPresent: random.chance(50), properties }))
  },
}

export const brokerFaultNames = Object.keys(brokerFaults)

export async function startBrokerFront(random: Random, upstream: string): Promise<Front> {
  let mode = 'good'
  let asked = 0
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  }
  const server = createServer((socket) => {
    asked += 1
    keep(socket)
    if (mode === 'good') {
      const to = keep(connect(Number(new URL(upstream).port), '127.0.0.1'))
      socket.pipe(to).pipe(socket)
      socket.once('close', () => to.destroy())
      to.once('close', () => socket.destroy())
      return
    }
    const fault = brokerFaults[mode === 'any' ? random.choose(brokerFaultNames) : mode]
    socket.once('data', () => fault?.(socket, random)).resume()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get asked() {
      return asked
    },
    accepted: [],
    faults: brokerFaultNames,
    set(next) {
      mode = next
      cut()
    },
    lead() {},
    stop() {
      const closed = once(server, 'close')
      server.close()
      cut()
      return closed.then(() => undefined)
    },
  }
}
