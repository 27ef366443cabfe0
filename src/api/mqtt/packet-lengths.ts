/**
 * mqtt-packet keeps the encoding of each packet length that it has written, up to 16,383. Each is a few bytes of a block that Node shares between small buffers (64 KiB in
 * Node 26), and keeps the whole block in memory: with packets of many lengths up to 1 GiB (github.com/mqttjs/mqtt-packet/issues/163, open in version 9.0.2). Encoded one after
 * the other, all of them share 3 blocks.
 */
import { type Packet, writeToStream } from 'mqtt-packet'

const longest = 16_383
/** The bytes of the shortest PUBLISH beside its payload: a topic of one letter, with its length. */
const beside = 3

let isDone = false

/** Takes about 0.1 s, once in a process. Packets of a shorter length than `beside` have nothing that varies. */
export function encodePacketLengths(): void {
  if (isDone) return
  isDone = true
  const payload = Buffer.alloc(longest - beside)
  const nowhere = {
    write: () => true,
    cork: () => undefined,
    uncork: () => undefined,
  } as unknown as NodeJS.WritableStream
  for (let size = 0; size <= payload.length; size += 1) {
    const packet: Packet = {
      cmd: 'publish',
      topic: 'a',
      payload: payload.subarray(0, size),
      qos: 0,
      retain: false,
      dup: false,
    }
    writeToStream(packet, nowhere)
  }
}
