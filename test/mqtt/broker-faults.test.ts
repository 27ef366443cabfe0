/** Brokers that break the rules of the protocol: a server survives them, bounds what they cost, and leaves them for a new connection. */
import { once } from 'node:events'
import { Socket } from 'node:net'
import type { Packet } from 'mqtt-packet'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createIntake } from '../../src/api/mqtt/intake.ts'
import { createLanes } from '../../src/api/mqtt/lanes.ts'
import { keepSubscription } from '../../src/api/mqtt/subscription.ts'
import { startApp } from '../support/servers/app.ts'
import { startFaultyBroker } from '../support/systems/faulty-broker.ts'
import { connectTo, count, createLines, reportPacket } from './faulty-connection.ts'

describe('a broker that acknowledges nothing', () => {
  it('gets a new connection, which sends the message again', async () => {
    const broker = await startFaultyBroker((packet) =>
      packet.cmd === 'publish' && count(broker, 'connect') < 2 ? null : undefined,
    )
    const { lines, log } = createLines()
    const connection = connectTo(broker, { log })
    const { acknowledged } = await connection.publish('rollcall/edge-1/responses', '{}')
    await acknowledged
    expect(count(broker, 'connect')).toBe(2)
    expect(lines).toContain('the MQTT broker acknowledges no message: connecting again')
    await connection.close(false)
    await broker.stop()
  })
})

describe('a broker that ends each connection which sends it a certain message', () => {
  it('gets that message by three connections, and what follows by the next one', async () => {
    const broker = await startFaultyBroker((packet, socket) => {
      if (packet.cmd !== 'publish' || packet.topic !== 'rollcall/edge-1/responses/poison') return undefined
      socket.destroy()
      return null
    })
    const { lines, log } = createLines()
    const connection = connectTo(broker, { log, patience: 60_000 })
    const { acknowledged } = await connection.publish('rollcall/edge-1/responses/poison', '{}')
    await expect(acknowledged).rejects.toThrow('Message removed')
    await (await connection.publish('rollcall/edge-1/responses', '{}')).acknowledged
    expect(count(broker, 'publish')).toBe(4)
    expect(count(broker, 'connect')).toBe(4)
    expect(lines).toContain('the MQTT broker accepts no message: those under way are given up')
    await connection.close(false)
    await broker.stop()
  })
})

describe('each connection to a broker', () => {
  it('sends small packets at once, also after the first one was lost', async () => {
    const broker = await startFaultyBroker((packet) =>
      packet.cmd === 'publish' && count(broker, 'connect') < 2 ? null : undefined,
    )
    const sendAtOnce = vi.spyOn(Socket.prototype, 'setNoDelay')
    onTestFinished(() => sendAtOnce.mockRestore())
    const connection = connectTo(broker)
    await (await connection.publish('rollcall/edge-1/responses', '{}')).acknowledged
    const own = sendAtOnce.mock.contexts.filter(
      (socket) => (socket as Socket).remotePort === Number(new URL(broker.url).port),
    )
    // The first one is closed, and has no port any more.
    expect(own).toEqual([connection.client.stream])
    expect(sendAtOnce.mock.calls.filter(([isAtOnce]) => isAtOnce === true).length).toBeGreaterThanOrEqual(2)
    await connection.close(false)
    await broker.stop()
  })
})

describe('a broker that sends more than it may', () => {
  it.each([
    ['messages', 4_000, {}, 530],
    [
      'bytes of user properties',
      300,
      { properties: { userProperties: { note: 'x'.repeat(15_000).match(/.{1,5000}/g) ?? [] } } },
      80,
    ],
  ])('is not read on before its %s are committed', async (_, total, more, most) => {
    const broker = await startFaultyBroker()
    const connection = connectTo(broker)
    const gate = Promise.withResolvers<void>()
    let seen = 0
    const intake = createIntake({
      connection,
      lanes: createLanes((topic) => topic),
      async take() {
        seen = Math.max(seen, intake.size())
        await gate.promise
        return async () => {}
      },
      dropped: () => undefined,
      mostBytes: 1 << 20,
    })
    await expect.poll(() => broker.sockets.size).toBe(1)
    await expect.poll(() => connection.client.connected).toBe(true)
    const [socket] = broker.sockets
    for (let id = 1; id <= total; id += 1) broker.send(socket as Socket, reportPacket(id, more))
    let size = 0
    const isStill = (): boolean => {
      const before = size
      size = intake.size()
      return size > 0 && size === before
    }
    await expect.poll(isStill, { interval: 100 }).toBe(true)
    gate.resolve()
    await expect.poll(() => count(broker, 'puback')).toBe(total)
    expect(seen).toBeLessThanOrEqual(most)
    await connection.close(false)
    await broker.stop()
  })
})

describe('a broker that sends what no client can use', () => {
  const packets: readonly (readonly [string, Packet | Buffer])[] = [
    ['bytes that are no packet', Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
    ['a length without an end', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])],
    ['a second CONNACK', { cmd: 'connack', reasonCode: 0, sessionPresent: true }],
    ['an unknown topic alias', reportPacket(1, { topic: '', properties: { topicAlias: 7 } })],
    ['a topic alias that was not allowed', reportPacket(1, { properties: { topicAlias: 7 } })],
    ['an acknowledgement of nothing', { cmd: 'puback', messageId: 999, reasonCode: 0 }],
    ['QoS 2', reportPacket(1, { qos: 2 })],
    ['a topic of another prefix', reportPacket(1, { topic: 'elsewhere/edge-1/deployments/d/status' })],
    ['a topic with a NUL', reportPacket(1, { topic: 'rollcall/\0/deployments/d/status' })],
    ['a topic with wildcards', reportPacket(1, { topic: 'rollcall/+/deployments/#/status' })],
    ['a DISCONNECT', { cmd: 'disconnect', reasonCode: 0x8b }],
  ]

  it('loses its connection, and the server continues', async () => {
    const broker = await startFaultyBroker()
    onTestFinished(() => broker.stop())
    const server = await startApp({ env: { MQTT_URL: broker.url, MQTT_PUBLISH: 'all' } })
    onTestFinished(() => server.stop())
    const subscribed = (): number => count(broker, 'subscribe')
    await expect.poll(subscribed).toBeGreaterThan(0)
    for (const [, packet] of packets)
      for (const socket of broker.sockets)
        if (Buffer.isBuffer(packet)) socket.write(packet)
        else broker.send(socket, packet)
    // One at a time too, because the first may end the connection.
    for (const [name, packet] of packets) {
      await expect.poll(() => broker.sockets.size, { message: name }).toBeGreaterThan(0)
      for (const socket of broker.sockets)
        if (Buffer.isBuffer(packet)) socket.write(packet)
        else broker.send(socket, packet)
    }
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(await server.query('{ deploymentCounts { total } devices(first: 9) { nodes { deviceId } } }')).toEqual({
      deploymentCounts: { total: 0 },
      devices: { nodes: [] },
    })
  })
})

describe('a broker that refuses the subscription', () => {
  it('is asked again on the same connection until it accepts it', async () => {
    let isRefusing = true
    const broker = await startFaultyBroker((packet) =>
      packet.cmd === 'subscribe' && isRefusing
        ? { cmd: 'suback', messageId: packet.messageId ?? 0, granted: packet.subscriptions.map(() => 0x87) }
        : undefined,
    )
    onTestFinished(() => broker.stop())
    const server = await startApp({ env: { MQTT_URL: broker.url } })
    onTestFinished(() => server.stop())
    const sessions = async () => (await (await fetch(`${server.url}/readyz?verbose`)).json()).mqtt.sessions
    const lines = (text: string) => server.logged.filter(({ msg }) => String(msg).startsWith(text)).length
    await expect.poll(() => count(broker, 'subscribe')).toBeGreaterThan(1)
    await expect.poll(sessions).toEqual({ connected: 0, refused: 1, disconnected: 0 })
    expect(await server.app.metrics.print()).toMatch(/^rollcall_mqtt_subscriptions_refused_total [1-9]/m)
    expect(await server.app.metrics.print()).toMatch(/^rollcall_mqtt_sessions{state="refused"} 1$/m)
    expect(lines('the MQTT broker refused the subscription')).toBe(1)
    isRefusing = false
    await expect.poll(sessions).toEqual({ connected: 1, refused: 0, disconnected: 0 })
    expect([lines('reports are received'), count(broker, 'connect')]).toEqual([1, 1])
  })

  it('gets a new connection if it does not answer', async () => {
    const broker = await startFaultyBroker((packet) =>
      packet.cmd === 'subscribe' && count(broker, 'connect') < 2 ? null : undefined,
    )
    const { lines, log } = createLines()
    const connection = connectTo(broker, { log })
    const refused = (): void => expect.unreachable()
    const subscription = keepSubscription({ connection, filters: ['a'], session: 0, log, refused, patience: 50 })
    await expect.poll(subscription.state).toBe('made')
    expect(lines).toContain('the MQTT broker does not answer a subscription: connecting again')
    subscription.close()
    await connection.close(false)
    await broker.stop()
  })
})

describe('a broker that cannot be reached', () => {
  it('does not prevent the end of a connection', async () => {
    const broker = await startFaultyBroker()
    const connection = connectTo(broker)
    await expect.poll(() => connection.client.connected).toBe(true)
    const lost = once(connection.client.stream, 'close')
    await broker.stop()
    await lost
    await connection.close(false)
    await connection.close(false)
  })
})
