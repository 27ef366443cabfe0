/**
 * Stands between the socket and mqtt-packet, which reads a packet as a whole: 2 MB of user properties, which one device can send, would stop the
 * event loop for half a second, and a packet that is longer than announced would fill the memory. So lengths are checked on the bytes.
 *
 *   longer than announced, or malformed      the connection ends
 *   another packet than PUBLISH, too long    the connection ends: nothing that is asked for has a long answer
 *   more answers than were asked for         the connection ends: the library handles all small packets of a chunk in one turn
 *   PUBLISH with too many properties         user properties above the limit are left out. The rest is read, so the device gets its refusal, and the
 *                                            broker its acknowledgement: without one, it would deliver the message again by each connection.
 */
import { Transform } from 'node:stream'
import { gather } from '../../platform/limits/gather.ts'

/** Bytes of all user properties of a message as they are sent. HTTP limits headers to the same. */
export const longestUserProperties = 16 << 10
/** Bytes of a user property besides its name and its value. */
export const propertyOverhead = 5

/** Bytes. Packets other than PUBLISH have nothing but properties and some codes. */
const longestControl = 16 << 10

/** Packets that pass in one turn of the event loop. A chunk may have thirty thousand. */
const mostPackets = 256

/** Reason codes of MQTT 5. */
const [malformed, protocolError, tooLarge] = [0x81, 0x82, 0x95]
const [publish, userProperty] = [3, 0x26]

interface GuardOptions {
  /** Bytes of a packet. */
  readonly largest: number
  /** Packets other than PUBLISH that the broker may have sent by now. */
  readonly expected: () => number
  /** The connection has to end. Nothing more comes out of the guard. */
  readonly refuse: (reasonCode: number, why: string) => void
  /** Some user properties of a message were left out, so that toRequest refuses it. */
  readonly shortened: (topic: string, bytes: number) => void
}

type Step =
  | { readonly kind: 'need'; readonly bytes: number }
  | { readonly kind: 'pass'; readonly bytes: number }
  | { readonly kind: 'replace'; readonly read: number; readonly by: Buffer; readonly rest: number }
  | { readonly kind: 'refuse'; readonly reasonCode: number; readonly why: string }

export function createPacketGuard(options: GuardOptions): Transform {
  const held = gather()
  let [heldBytes, needed] = [0, 0]
  /** Bytes of the present packet that pass unread. */
  let passing = 0
  let isOver = false
  /** Packets other than PUBLISH. */
  let answers = 0

  /** The bytes from the beginning of an unread packet on, or from the middle of one that passes. Null: too few to decide. */
  function collected(chunk: Buffer): Buffer | null {
    if (heldBytes === 0) return chunk
    held.add(chunk)
    heldBytes += chunk.length
    if (heldBytes < needed) return null
    heldBytes = 0
    return held.take()
  }

  function hold(bytes: Buffer, wanted: number): void {
    held.add(bytes)
    heldBytes = bytes.length
    needed = wanted
  }

  function read(guard: Transform, bytes: Buffer, done: () => void): void {
    let [from, at, packets] = [0, 0, 0]
    const passRead = (): void => {
      if (at > from) guard.push(bytes.subarray(from, at))
      from = at
    }
    while (at < bytes.length && !isOver && !guard.destroyed) {
      if (passing > 0) {
        const length = Math.min(passing, bytes.length - at)
        at += length
        passing -= length
        continue
      }
      packets += 1
      if (packets > mostPackets) {
        passRead()
        setImmediate(() => read(guard, bytes.subarray(at), done))
        return
      }
      const step = nextStep(bytes.subarray(at))
      switch (step.kind) {
        case 'pass':
          passing = step.bytes
          break
        case 'need':
          passRead()
          hold(bytes.subarray(at), step.bytes)
          done()
          return
        case 'replace':
          passRead()
          guard.push(step.by)
          at += step.read
          from = at
          passing = step.rest
          break
        case 'refuse':
          isOver = true
          passRead()
          options.refuse(step.reasonCode, step.why)
          done()
          return
      }
    }
    passRead()
    done()
  }

  function nextStep(bytes: Buffer): Step {
    const step = readHead(bytes, options)
    if (step.kind !== 'pass' || (bytes[0] as number) >> 4 === publish) return step
    answers += 1
    return answers > options.expected()
      ? { kind: 'refuse', reasonCode: protocolError, why: 'more answers than it was asked for' }
      : step
  }

  return new Transform({
    transform(chunk: Buffer, _, done) {
      const bytes = isOver ? null : collected(chunk)
      if (bytes === null) done()
      else read(this, bytes, done)
    },
  })
}

/** What to do with the packet that begins here. */
function readHead(bytes: Buffer, { largest, shortened }: GuardOptions): Step {
  const length = readVarInt(bytes, 1)
  if (typeof length === 'string') return unread(length, bytes)
  const total = length.end + length.value
  if (total > largest) return { kind: 'refuse', reasonCode: tooLarge, why: `a packet of ${total} bytes` }
  const head = bytes[0] as number
  if (head >> 4 !== publish)
    return length.value > longestControl
      ? { kind: 'refuse', reasonCode: tooLarge, why: `a packet of type ${head >> 4} with ${total} bytes` }
      : { kind: 'pass', bytes: total }

  const topicFrom = length.end + 2
  if (bytes.length < topicFrom) return total < topicFrom ? broken : { kind: 'need', bytes: topicFrom }
  const topicEnd = topicFrom + bytes.readUInt16BE(length.end)
  const hasId = (head & 0x06) !== 0
  const headEnd = topicEnd + (hasId ? 2 : 0)
  if (headEnd >= total) return broken
  const size = readVarInt(bytes, headEnd)
  if (typeof size === 'string') return unread(size, bytes, headEnd)
  const end = size.end + size.value
  if (end > total) return broken
  if (size.value <= longestUserProperties) return { kind: 'pass', bytes: total }
  if (bytes.length < end) return { kind: 'need', bytes: end }

  const kept = keepProperties(bytes.subarray(size.end, end))
  if (kept === null) return { kind: 'refuse', reasonCode: protocolError, why: 'a property that no message has' }
  if (kept.isShortened) shortened(bytes.toString('utf8', topicFrom, Math.min(topicEnd, topicFrom + 300)), size.value)
  const body = Buffer.concat([bytes.subarray(length.end, headEnd), varInt(kept.bytes.length), kept.bytes])
  const rest = total - end
  return {
    kind: 'replace',
    read: end,
    by: Buffer.concat([bytes.subarray(0, 1), varInt(body.length + rest), body]),
    rest,
  }
}

const broken: Step = { kind: 'refuse', reasonCode: malformed, why: 'a packet whose lengths contradict each other' }

function unread(why: 'incomplete' | 'malformed', bytes: Buffer, from = 0): Step {
  return why === 'malformed' ? broken : { kind: 'need', bytes: Math.max(bytes.length, from) + 1 }
}

/** A variable byte integer: at most four bytes. */
function readVarInt(
  bytes: Buffer,
  from: number,
): { readonly value: number; readonly end: number } | 'incomplete' | 'malformed' {
  let value = 0
  for (let at = from; at < from + 4; at += 1) {
    const byte = bytes[at]
    if (byte === undefined) return 'incomplete'
    value += (byte & 0x7f) * 128 ** (at - from)
    if (byte < 0x80) return { value, end: at + 1 }
  }
  return 'malformed'
}

function varInt(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push((rest % 128) + (rest >= 128 ? 0x80 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.from(bytes)
}

/** The first of each other property, and user properties until they exceed the limit. Null: malformed. */
function keepProperties(bytes: Buffer): { readonly bytes: Buffer; readonly isShortened: boolean } | null {
  const parts: Buffer[] = []
  const seen = new Set<number>()
  let [at, userBytes, isShortened] = [0, 0, false]
  while (at < bytes.length) {
    const kind = bytes[at] as number
    const end = propertyEnd(bytes, kind, at + 1)
    if (end === null || end > bytes.length) return null
    const isKept = kind === userProperty ? userBytes <= longestUserProperties : !seen.has(kind)
    if (isKept) parts.push(bytes.subarray(at, end))
    else if (kind === userProperty) isShortened = true
    if (kind === userProperty) userBytes += end - at
    else seen.add(kind)
    at = end
  }
  return { bytes: Buffer.concat(parts), isShortened: isShortened || userBytes > longestUserProperties }
}

/** MQTT 5, table 2-4: the properties of PUBLISH. Null: it is not one of them, or it is cut off. */
function propertyEnd(bytes: Buffer, kind: number, from: number): number | null {
  switch (kind) {
    case 0x01:
      return from + 1
    case 0x02:
      return from + 4
    case 0x23:
      return from + 2
    case 0x03:
    case 0x08:
    case 0x09:
      return textEnd(bytes, from)
    case 0x0b: {
      const number = readVarInt(bytes, from)
      return typeof number === 'string' ? null : number.end
    }
    case userProperty: {
      const value = textEnd(bytes, from)
      return value === null ? null : textEnd(bytes, value)
    }
    default:
      return null
  }
}

function textEnd(bytes: Buffer, from: number): number | null {
  return from + 2 > bytes.length ? null : from + 2 + bytes.readUInt16BE(from)
}
