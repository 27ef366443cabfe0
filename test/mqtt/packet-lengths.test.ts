/** What the MQTT library keeps of the packets that it has written. */
import { type Packet, writeToStream } from 'mqtt-packet'
import { expect, it } from 'vitest'
import { encodePacketLengths } from '../../src/api/mqtt/packet-lengths.ts'

it('the encoded lengths of packets share a few blocks of memory', () => {
  encodePacketLengths()
  const payload = Buffer.alloc(16_383)
  const blocks = new Set<ArrayBufferLike>()
  // The length is the second thing that is written.
  let written = 0
  const stream = {
    write(chunk: Buffer) {
      written += 1
      if (written === 2) blocks.add(chunk.buffer)
      return true
    },
    cork: () => undefined,
    uncork: () => undefined,
  } as unknown as NodeJS.WritableStream
  for (let size = 1; size < payload.length - 3; size += 7) {
    // What else the server does meanwhile takes from the blocks that Node shares between small buffers: here, each whole block.
    for (let taken = 0; taken < Buffer.poolSize; taken += 2_000) Buffer.allocUnsafe(2_000)
    written = 0
    const packet: Packet = {
      cmd: 'publish',
      topic: 'a',
      payload: payload.subarray(0, size),
      qos: 0,
      retain: false,
      dup: false,
    }
    writeToStream(packet, stream)
    expect(written).toBeGreaterThan(1)
  }
  // Otherwise each of 2,340 lengths has its block. Tests before this one, in the same process, have left some so.
  expect(blocks.size).toBeLessThan(1_000)
})
