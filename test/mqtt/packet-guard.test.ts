/** What the guard lets through to mqtt-packet, however the bytes are cut; and what a device can cost by its user properties. */
import type { Socket } from 'node:net'
import fc from 'fast-check'
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPacketGuard, longestUserProperties } from '../../src/api/mqtt/packet-guard.ts'
import { connectDevice, receiving } from '../support/clients/mqtt-device.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { startApp } from '../support/servers/app.ts'
import { threadTime } from '../support/stall.ts'
import { startFaultyBroker } from '../support/systems/faulty-broker.ts'
import { findMosquitto, startMosquitto } from '../support/systems/mosquitto.ts'
import { connectTo, count, createLines, reportPacket } from './faulty-connection.ts'

const isMissing = process.env.ROLLCALL_REQUIRE_MOSQUITTO !== '1' && findMosquitto() === null

/** Distinct ones, in about two megabytes. */
const many = Object.fromEntries(Array.from({ length: 190_000 }, (_, index) => [index.toString(36), '']))
const bytesOf = (packet: Packet): Buffer => generate(packet, { protocolVersion: 5 })

interface Passed {
  readonly bytes: Buffer
  readonly refusals: readonly (readonly [number, string])[]
  readonly shortened: readonly (readonly [string, number])[]
}

function pass(chunks: readonly Buffer[]): Passed {
  const refusals: [number, string][] = []
  const shortened: [string, number][] = []
  const guard = createPacketGuard({
    largest: 2 << 20,
    expected: () => 1_000,
    refuse: (reasonCode, why) => void refusals.push([reasonCode, why]),
    shortened: (topic, bytes) => void shortened.push([topic, bytes]),
  })
  const out: Buffer[] = []
  guard.on('data', (chunk: Buffer) => out.push(chunk))
  for (const chunk of chunks) guard.write(chunk)
  // What it has pushed arrives while it is read, and the streams of this test never wait.
  for (let rest = guard.read(); rest !== null; rest = guard.read()) out.push(rest)
  return { bytes: Buffer.concat(out), refusals, shortened }
}

function packetsIn(bytes: Buffer): Packet[] {
  const packets: Packet[] = []
  const reader = parser({ protocolVersion: 5 })
  reader.on('packet', (packet: Packet) => packets.push(packet))
  reader.parse(bytes)
  return packets
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] as number
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

describe('what passes', () => {
  const packets: readonly Packet[] = [
    { cmd: 'connack', reasonCode: 0, sessionPresent: true, properties: { receiveMaximum: 7 } },
    { cmd: 'pingresp' },
    reportPacket(1, { payload: 'x'.repeat(5_000) }),
    reportPacket(2, {
      qos: 0,
      properties: { userProperties: { a: 'b', c: ['d', 'e'] }, contentType: 'application/json' },
    }),
    { cmd: 'suback', messageId: 9, granted: [1, 0x87] },
    { cmd: 'puback', messageId: 3, reasonCode: 0x97, properties: { reasonString: 'full' } },
    reportPacket(4, { payload: '' }),
  ]
  const all = Buffer.concat(packets.map(bytesOf))

  it('is what was sent, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 40 }), (sizes) => {
        expect(pass(cut(all, sizes))).toEqual({ bytes: all, refusals: [], shortened: [] })
      }),
    )
  })

  it('is a message with as many user properties as are read', () => {
    const largest = bytesOf(
      reportPacket(1, { properties: { userProperties: { a: 'x'.repeat(longestUserProperties - 6) } } }),
    )
    expect(pass([largest])).toEqual({ bytes: largest, refusals: [], shortened: [] })
  })
})

describe('a message with too many user properties', () => {
  const properties = {
    contentType: 'application/json',
    responseTopic: 'rollcall/edge-1/responses',
    correlationData: Buffer.from('1'),
  }
  const sent = reportPacket(1, { payload: 'the body', properties: { ...properties, userProperties: many } })
  const bytes = Buffer.concat([bytesOf(sent), bytesOf(reportPacket(2))])

  it.each(casesOf(2, [[[65_536]], [[1, 2, 3, 50_000]], [[7]]]))('keeps the rest, in pieces of %j bytes', (sizes) => {
    const { bytes: passed, refusals, shortened } = pass(cut(bytes, sizes))
    const [first, second] = packetsIn(passed) as IPublishPacket[]
    expect(first).toMatchObject({
      topic: sent.topic,
      messageId: 1,
      qos: 1,
      payload: Buffer.from('the body'),
      properties,
    })
    const kept = Object.keys(first?.properties?.userProperties ?? {})
    expect(kept.length).toBeLessThan(longestUserProperties / 5 + 2)
    expect(second).toMatchObject({ topic: reportPacket(2).topic })
    expect([refusals, shortened.map(([topic]) => topic)]).toEqual([[], [sent.topic]])
  })

  it.runIf(isWhole)('costs a small part of what mqtt-packet would need for it', () => {
    const timeOf = (work: () => unknown): number => {
      const start = threadTime()
      work()
      return threadTime() - start
    }
    const unguarded = timeOf(() => packetsIn(bytes))
    const guarded = Math.min(...[1, 2, 3].map(() => timeOf(() => packetsIn(pass(cut(bytes, [65_536])).bytes))))
    expect(guarded).toBeLessThan(unguarded / 5)
  })

  it('is acknowledged and logged once, so that no broker delivers it again, and others are taken', async () => {
    const broker = await startFaultyBroker()
    onTestFinished(() => broker.stop())
    const server = await startApp({ env: { MQTT_URL: broker.url } })
    onTestFinished(() => server.stop())
    await receiving(server)
    const [socket] = broker.sockets
    for (const piece of [
      bytesOf(sent),
      bytesOf({ ...sent, messageId: 2 }),
      bytesOf({ ...reportPacket(3), payload: '{' }),
    ])
      (socket as Socket).write(piece)
    await expect.poll(() => count(broker, 'puback')).toBe(3)
    expect(count(broker, 'connect')).toBe(1)
    const answers = broker.received.filter((packet) => packet.cmd === 'publish') as IPublishPacket[]
    expect(answers.map(({ payload }) => JSON.parse(payload.toString()).code)).toEqual([
      'LIMIT_EXCEEDED',
      'LIMIT_EXCEEDED',
    ])
    expect(
      server.logged.filter(({ msg }) => String(msg).startsWith('a device sends more user properties')),
    ).toHaveLength(1)
  })

  it.skipIf(isMissing || !isWhole)(
    'is answered through a real broker, and so is what the device sends next',
    async () => {
      const broker = await startMosquitto()
      onTestFinished(() => broker.dispose())
      const server = await startApp({ env: { MQTT_URL: broker.url } })
      onTestFinished(() => server.stop())
      await receiving(server)
      const device = await connectDevice(broker.url, 'edge-1')
      onTestFinished(() => device.close())
      expect((await device.report('d', 'installed', { userProperties: many })).body.code).toBe('LIMIT_EXCEEDED')
      expect((await device.report('d', 'installed')).body.verdict).toBe('APPLIED')
      expect(server.logged.filter(({ msg }) => msg === 'connected to the MQTT broker')).toHaveLength(1)
    },
  )
})

describe('a connection ends', () => {
  const malformed = Buffer.from([0x32, 5, 0, 9, 0x61, 0x62, 0x63])
  const longProperties = Buffer.from([0x30, 6, 0, 1, 0x61, 0x7f, 0, 0])
  const unending = Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff])
  /** 17,000 bytes of properties, which begin with one that MQTT does not have. */
  const unknown = Buffer.concat([
    Buffer.from([0x30, 0xee, 0x84, 0x01, 0, 1, 0x61, 0xe8, 0x84, 0x01]),
    Buffer.alloc(17_000, 0x7f),
  ])
  it.each([
    ['a property that no message has', unknown, 0x82],
    ['a packet that is longer than was announced', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f]), 0x95],
    [
      'a long packet that is no message',
      bytesOf({ cmd: 'puback', messageId: 1, properties: { userProperties: many } }),
      0x95,
    ],
    ['a topic beyond the end of its packet', malformed, 0x81],
    ['properties beyond the end of their packet', longProperties, 0x81],
    ['a length of five bytes', unending, 0x81],
  ])('at %s, with a reason code', async (_, bytes, reasonCode) => {
    const broker = await startFaultyBroker()
    onTestFinished(() => broker.stop())
    const { lines, log } = createLines()
    const connection = connectTo(broker, { log, isLasting: false })
    onTestFinished(() => connection.close(false))
    await expect.poll(() => connection.client.connected).toBe(true)
    const [socket] = broker.sockets
    ;(socket as Socket).write(bytes)
    await expect.poll(() => broker.received.findLast(({ cmd }) => cmd === 'disconnect')).toMatchObject({ reasonCode })
    await expect.poll(() => broker.sockets.size).toBe(0)
    expect(lines.filter((line) => line.startsWith('the MQTT broker sends '))).toHaveLength(1)
  })
})
