/** Brokers that lose, delay or refuse what the server acknowledges and answers: each message is taken once, and none waits for ever. */
import type { Socket } from 'node:net'
import type { Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { createIntake } from '../../src/api/mqtt/intake.ts'
import { createLanes } from '../../src/api/mqtt/lanes.ts'
import { startFaultyBroker } from '../support/systems/faulty-broker.ts'
import { connectTo, count, reportPacket } from './faulty-connection.ts'

describe('a broker that accepts one answer at a time', () => {
  const accepting = (packet: Packet): Packet | undefined =>
    packet.cmd === 'connect'
      ? { cmd: 'connack', reasonCode: 0, sessionPresent: false, properties: { receiveMaximum: 1 } }
      : undefined

  async function start(take: () => Promise<void>) {
    const broker = await startFaultyBroker(accepting)
    const connection = connectTo(broker, { patience: 60_000 })
    const answer = async (): Promise<void> => {
      const { acknowledged } = await connection.publish('rollcall/edge-1/responses', '{}')
      acknowledged.catch(() => undefined)
    }
    const intake = createIntake({
      ...{ connection, lanes: createLanes((topic) => topic), mostBytes: 1 << 20 },
      dropped: () => expect.unreachable(),
      async take() {
        await take()
        return answer
      },
    })
    await expect.poll(() => connection.client.connected).toBe(true)
    const [socket] = broker.sockets
    return { broker, connection, intake, send: (packet: Packet) => broker.send(socket as Socket, packet) }
  }

  it('gets all answers to messages without an acknowledgement, also when they are more than may be in memory', async () => {
    const { broker, connection, send } = await start(async () => undefined)
    for (let id = 1; id <= 60; id += 1) send(reportPacket(id, { qos: 0, payload: Buffer.alloc(100_000) }))
    await expect.poll(() => count(broker, 'publish')).toBe(60)
    expect(count(broker, 'connect')).toBe(1)
    await connection.close(false)
    await broker.stop()
  })

  it('gets the answers to messages that were taken before the end, and keeps the later ones', async () => {
    const gate = Promise.withResolvers<void>()
    const { broker, connection, intake, send } = await start(() => gate.promise)
    for (const id of [1, 2, 3]) send(reportPacket(id))
    await expect.poll(intake.size).toBe(3)
    const finished = intake.finish()
    for (const id of [4, 5]) send(reportPacket(id))
    gate.resolve()
    await finished
    await expect.poll(() => [count(broker, 'publish'), count(broker, 'puback')]).toEqual([3, 3])
    await connection.close(false)
    await broker.stop()
  })
})

describe('a broker that loses an acknowledgement with the connection', () => {
  it('causes no message to be taken twice, so that no report replaces a later one', async () => {
    const held = Promise.withResolvers<void>()
    const broker = await startFaultyBroker((packet, socket) => {
      if (packet.cmd === 'connect') return { cmd: 'connack', reasonCode: 0, sessionPresent: true }
      // The first acknowledgement does not arrive, and the second message is not committed yet.
      if (packet.cmd === 'puback' && count(broker, 'connect') === 1) socket.destroy()
      return undefined
    })
    const connection = connectTo(broker, { patience: 60_000 })
    const taken: string[] = []
    createIntake({
      ...{ connection, lanes: createLanes((topic) => topic), dropped: () => expect.unreachable() },
      async take({ topic, payload }) {
        taken.push(payload.toString())
        if (taken.length === 2) await held.promise
        return async () => void (await connection.publish(`${topic}/answer`, '{}'))
      },
    })
    const packets = [1, 2].map((id) =>
      reportPacket(id, { topic: 'rollcall/edge-1/deployments/d/status', payload: `${id}` }),
    )
    const deliver = (dup: boolean): void => {
      const [socket] = broker.sockets
      for (const packet of packets) broker.send(socket as Socket, { ...packet, dup })
    }
    await expect.poll(() => connection.client.connected).toBe(true)
    deliver(false)
    await expect.poll(() => count(broker, 'connect')).toBe(2)
    await expect.poll(() => connection.client.connected).toBe(true)
    deliver(true)
    held.resolve()
    await expect.poll(() => count(broker, 'puback')).toBe(3)
    expect(taken).toEqual(['1', '2'])
    await expect
      .poll(() => new Set(broker.received.flatMap((packet) => (packet.cmd === 'publish' ? packet.messageId : []))).size)
      .toBe(2)
    await connection.close(false)
    await broker.stop()
  })

  it('gets the acknowledgement before the answer, because its rules may refuse the answer', async () => {
    const broker = await startFaultyBroker()
    const connection = connectTo(broker)
    createIntake({
      ...{ connection, lanes: createLanes((topic) => topic), dropped: () => expect.unreachable() },
      take: async () => async () => void (await connection.publish('rollcall/edge-1/responses', '{}')),
    })
    await expect.poll(() => connection.client.connected).toBe(true)
    const [socket] = broker.sockets
    broker.send(socket as Socket, reportPacket(1))
    await expect.poll(() => broker.received.map(({ cmd }) => cmd)).toEqual(['connect', 'puback', 'publish'])
    await connection.close(false)
    await broker.stop()
  })
})
