import type { Packet } from 'mqtt-packet'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { markerTopicOf } from '../../src/api/mqtt/marker.ts'
import { createPublisher } from '../../src/api/mqtt/publisher.ts'
import { createSessions, type Session } from '../../src/api/mqtt/sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { stores } from '../support/databases/stores.ts'
import { startFaultyBroker } from '../support/systems/faulty-broker.ts'
import { connectTo, count, createLines, reportPacket } from './faulty-connection.ts'

describe.each(stores)('the publisher and a faulty broker, on $name', (store) => {
  let database: Database
  let drop: () => Promise<void>
  beforeEach(async () => {
    const on = await store.create()
    database = await on.open()
    drop = on.drop
  })
  afterEach(async () => {
    await database.close()
    await drop()
  })

  it.each([
    ['sends no retained messages', () => undefined],
    ['answers no subscription', (packet: Packet) => (packet.cmd === 'subscribe' ? null : undefined)],
  ])('publishes by the next connection when the broker %s', async (_, answer) => {
    const broker = await startFaultyBroker(answer)
    const { lines, log } = createLines()
    const publisher = createPublisher({
      ...{ database, prefix: 'rollcall', scope: null, log, clock: Date.now, pause: 50 },
      hub: { onMove: () => () => undefined },
      open: () => connectTo(broker, { isLasting: false, log }),
    })
    await expect.poll(() => count(broker, 'connect')).toBeGreaterThan(1)
    expect(lines).toContain('the MQTT broker sends no retained messages: connecting again')
    await publisher.stop()
    await broker.stop()
  })

  it('withdraws in parts of bounded size what the broker has retained beyond the fleet', async () => {
    const strays = new Set(Array.from({ length: 2_600 }, (_, n) => `rollcall/present/deployments/d/${n}`))
    /** Topics that were withdrawn between two readings. */
    const parts: number[] = []
    const broker = await startFaultyBroker((packet, socket) => {
      if (packet.cmd === 'subscribe' && packet.subscriptions.some(({ topic }) => topic.endsWith('#'))) {
        for (const topic of strays)
          broker.send(socket, { ...reportPacket(1), qos: 0, topic, retain: true, payload: '1' })
        parts.push(0)
      }
      if (packet.cmd !== 'publish') return undefined
      if (packet.topic.includes('/read/')) broker.send(socket, { ...packet, qos: 0 })
      else if (packet.payload.length === 0 && strays.delete(packet.topic)) parts.push((parts.pop() ?? 0) + 1)
      return undefined
    })
    const { lines, log } = createLines()
    const publisher = createPublisher({
      ...{ database, prefix: 'rollcall', scope: null, log, clock: Date.now, mostStrays: 1_000 },
      hub: { onMove: () => () => undefined },
      open: () => connectTo(broker, { isLasting: false, log, patience: 60_000 }),
    })
    await expect.poll(() => lines.at(-1)).toMatch(/^the fleet is published by MQTT again/)
    expect([strays.size, Math.max(...parts)]).toEqual([0, 1_000])
    expect(lines.filter((line) => line.includes('was not published'))).toHaveLength(1)
    await publisher.stop()
    await broker.stop()
  })

  it('compares a part of the fleet again when the clock of the database goes back', async () => {
    let [comparisons, markers] = [0, 0]
    const broker = await startFaultyBroker((packet, socket) => {
      if (packet.cmd === 'subscribe' && packet.subscriptions.some(({ topic }) => topic.endsWith('#'))) comparisons += 1
      if (packet.cmd === 'publish' && packet.topic === markerTopicOf('rollcall')) markers += 1
      if (packet.cmd === 'publish' && packet.topic.includes('/read/')) broker.send(socket, { ...packet, qos: 0 })
      return undefined
    })
    const { log } = createLines()
    let now = Date.now()
    const scope = { labels: [{ key: 'site', value: 'berlin' }], projects: null }
    const publisher = createPublisher({
      ...{ database, prefix: 'rollcall', scope, log, clock: () => now },
      hub: { onMove: () => () => undefined },
      open: () => connectTo(broker, { isLasting: false, log, patience: 60_000 }),
    })
    await expect.poll(() => markers).toBe(1)
    expect(comparisons).toBe(1)
    now -= 3_600_000
    await expect.poll(() => comparisons).toBe(2)
    await publisher.stop()
    await broker.stop()
  })

  it('logs one line while it cannot publish, and one when it can again', async () => {
    let isRefusing = true
    const broker = await startFaultyBroker((packet, socket) => {
      if (packet.cmd !== 'publish' || packet.qos !== 1) return undefined
      const messageId = packet.messageId ?? 0
      if (isRefusing) return { cmd: 'puback', messageId, reasonCode: 0x87 }
      if (packet.topic.includes('/read/')) broker.send(socket, { ...packet, qos: 0 })
      return undefined
    })
    const { lines, log } = createLines()
    const publisher = createPublisher({
      ...{ database, prefix: 'rollcall', scope: null, log, clock: Date.now },
      hub: { onMove: () => () => undefined },
      open: () => connectTo(broker, { isLasting: false, log }),
    })
    // Three attempts.
    await expect.poll(() => count(broker, 'subscribe')).toBeGreaterThan(2)
    isRefusing = false
    await expect.poll(() => lines.at(-1)).toMatch(/^the fleet is published by MQTT again after \d+ s$/)
    expect(lines.filter((line) => line.includes('was not published'))).toHaveLength(1)
    await publisher.stop()
    await broker.stop()
  })

  it('does not keep a session that another server waits for', async () => {
    const ended: string[] = []
    const stuck = (): Session => ({
      ...{ size: () => 1, state: () => 'made' as const },
      stop: () => new Promise(() => undefined),
      drop: async () => void ended.push('dropped'),
    })
    const quick = (): Session => ({ ...stuck(), stop: async () => undefined })
    const shared = { database, count: 2, name: 'mqtt:session', clock: Date.now, interval: 100, ...createLines() }
    const first = createSessions({ ...shared, open: stuck })
    await expect.poll(() => first.held().length).toBe(2)
    const second = createSessions({ ...shared, open: quick })
    await expect.poll(() => [first.held().length, second.held().length]).toEqual([1, 1])
    expect(ended).toEqual(['dropped'])
    await second.stop()
    await first.stop()
  })
})
