/** A broker that sends small packets without end: they stop neither the event loop nor the server. */
import { generate, type Packet } from 'mqtt-packet'
import { expect, it } from 'vitest'
import { longestStall } from '../support/stall.ts'
import { startFaultyBroker } from '../support/systems/faulty-broker.ts'
import { connectTo, createLines } from './faulty-connection.ts'

it.each<[string, Packet]>([
  ['pings', { cmd: 'pingresp' }],
  ['acknowledgements of nothing', { cmd: 'puback', messageId: 7, reasonCode: 0 }],
  ['ends of subscriptions', { cmd: 'unsuback', messageId: 7, granted: [0] }],
])('loses its connection for %s', async (_, packet) => {
  const flood = Buffer.alloc(2 << 20, generate(packet, { protocolVersion: 5 }))
  const broker = await startFaultyBroker((received, socket) => {
    if (received.cmd === 'connect') setImmediate(() => socket.write(flood))
    return undefined
  })
  const { lines, log } = createLines()
  const stall = await longestStall(async () => {
    const connection = connectTo(broker, { log, isLasting: false })
    await new Promise<void>((resolve) => connection.client.once('close', resolve))
    await connection.close(false)
  })
  expect(stall).toBeLessThan(150)
  expect(lines).toContain('the MQTT broker sends more answers than it was asked for: connecting again')
  await broker.stop()
})

it('may answer as many packets as it was sent, and a few more', async () => {
  const extra = generate({ cmd: 'pingresp' }, { protocolVersion: 5 })
  const broker = await startFaultyBroker((received, socket) => {
    if (received.cmd === 'publish') socket.write(extra)
    return undefined
  })
  const connection = connectTo(broker)
  await Promise.all(
    Array.from({ length: 90 }, async () => (await connection.publish('rollcall/edge-1/responses', '{}')).acknowledged),
  )
  expect(connection.client.connected).toBe(true)
  await connection.close(true)
  await broker.stop()
})
