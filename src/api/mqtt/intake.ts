/**
 * Receives the messages of one session.
 *
 *   PUBLISH → its device's lane → committed → PUBACK → answer         the last two in the order of arrival, as MQTT requires for PUBACK
 *
 * The client library acknowledges a message when `handleMessage` calls back, and handles no other message until then: one report a
 * transaction. If `handleMessage` calls back with an error, the library sends nothing and goes on. So each message ends that way, and the
 * acknowledgement is written here after COMMIT. What was not acknowledged when a connection or a process ended is delivered again.
 *
 * An answer follows its acknowledgement. If it came before, a device could send its next report while the broker still has to deliver the first
 * one again, behind the next one's state. And a broker that ends the connection because its rules refuse the answer would deliver the report
 * again, for ever.
 */
import { createHash } from 'node:crypto'
import { generate, type IPublishPacket } from 'mqtt-packet'
import { type Connection, receiveMaximum } from './connection.ts'
import type { Lanes } from './lanes.ts'

export interface Message {
  readonly topic: string
  readonly payload: Buffer
  readonly properties: NonNullable<IPublishPacket['properties']>
}

interface Intake {
  /** Messages that are not acknowledged. */
  size(): number
  /** Takes no further message: the broker keeps them. Resolves when those that were taken are acknowledged. */
  finish(): Promise<void>
}

interface IntakeOptions {
  readonly connection: Connection
  readonly lanes: Lanes
  /** Resolves after COMMIT with what sends the answer. Rejects only if the message must be delivered again. */
  readonly take: (message: Message) => Promise<SendAnswer>
  /** A message without an acknowledgement was dropped because too many were waiting. */
  readonly dropped: () => void
  /** Bytes of messages in memory. Above, the connection is not read. */
  readonly mostBytes?: number
}

type SendAnswer = () => Promise<void>

interface Entry {
  /** Of the topic and the payload, which are not kept. */
  readonly digest: string
  /** Null: the message is in work. */
  answer: SendAnswer | null
}

/** Messages without an acknowledgement (QoS 0) that wait. The broker limits the others (receive maximum). */
const mostUnacknowledged = 256

const later = new Error('acknowledged after COMMIT')
const nothing: SendAnswer = async () => {}

export function createIntake({ connection, lanes, take, dropped, mostBytes = 32 << 20 }: IntakeOptions): Intake {
  const { client } = connection
  /**
   * By packet ID. They outlive the connection: a message that is delivered again joins its work instead of being taken twice. They also outlive
   * their acknowledgement, which may be lost with the connection: an older report that is taken again would replace the one after it.
   */
  const entries = new Map<number, Entry>()
  /** Those that were acknowledged, oldest first. A broker has no more than `receiveMaximum` messages without an acknowledgement. */
  const acknowledged = new Map<number, Entry>()
  let acknowledgements: { readonly id: number; readonly entry: Entry }[] = []
  const works = new Set<Promise<void>>()
  let acknowledging: Promise<void> | null = null
  let bytes = 0
  let resume: (() => void)[] = []
  let isFinishing = false

  /** A broker that exceeds the receive maximum is not read either. */
  const isFull = (): boolean => bytes > mostBytes || acknowledgements.length > 2 * receiveMaximum

  function begin({ topic, payload, properties = {}, qos, length }: IPublishPacket): Entry {
    const body = typeof payload === 'string' ? Buffer.from(payload) : payload
    const entry: Entry = { digest: digestOf(topic, body), answer: null }
    // Of the whole packet: its user properties can be larger than its payload.
    const size = length ?? body.length
    bytes += size
    const settled = lanes
      .run(topic, async () => {
        entry.answer = await take({ topic, payload: body, properties })
      })
      .finally(() => {
        bytes -= size
        readOn()
        void acknowledge()
      })
      // It may wait for an acknowledgement of the broker, which arrives only while the connection is read.
      .then(() => (qos === 0 ? entry.answer?.() : undefined))
      .catch(() => undefined)
      .finally(() => works.delete(settled))
    works.add(settled)
    return entry
  }

  function acknowledge(): Promise<void> {
    acknowledging ??= answerInOrder().finally(() => {
      acknowledging = null
      readOn()
    })
    return acknowledging
  }

  function readOn(): void {
    if (isFull()) return
    for (const next of resume.splice(0)) next()
  }

  async function answerInOrder(): Promise<void> {
    for (let first = acknowledgements[0]; first?.entry.answer; first = acknowledgements[0]) {
      const { id, entry } = first
      const { answer } = first.entry
      acknowledgements.shift()
      client.stream.write(generate({ cmd: 'puback', messageId: id, reasonCode: 0 }, { protocolVersion: 5 }))
      // The library sends the answer again after a new connection.
      entry.answer = nothing
      acknowledged.delete(id)
      acknowledged.set(id, entry)
      forgetOldest()
      await answer().catch(() => undefined)
    }
  }

  function forgetOldest(): void {
    const [oldest] = acknowledged
    if (!oldest || acknowledged.size <= receiveMaximum) return
    const [id, entry] = oldest
    acknowledged.delete(id)
    if (entries.get(id) === entry) entries.delete(id)
  }

  client.handleMessage = (packet, done) => {
    // Reading continues: answers in progress wait for acknowledgements that arrive after this message.
    if (isFinishing) return done(later)
    const { messageId: id } = packet
    if (packet.qos === 0 || id === undefined) {
      if (works.size < 2 * mostUnacknowledged) begin(packet)
      else dropped()
    } else {
      const known = entries.get(id)
      const entry = known && packet.dup && isSame(known, packet) ? known : begin(packet)
      entries.set(id, entry)
      acknowledgements.push({ id, entry })
      void acknowledge()
    }
    if (isFull()) resume.push(() => done(later))
    else done(later)
  }
  client.on('close', () => {
    acknowledgements = []
    resume = []
  })
  client.on('connect', ({ sessionPresent }) => {
    if (!sessionPresent) entries.clear()
  })

  return {
    size: () => works.size,
    async finish() {
      isFinishing = true
      while (works.size > 0) await Promise.all(works)
      await acknowledge()
    },
  }
}

function isSame({ digest }: Entry, { topic, payload }: IPublishPacket): boolean {
  return digest === digestOf(topic, payload)
}

function digestOf(topic: string, payload: string | Buffer): string {
  return createHash('sha256').update(`${topic}\0`).update(payload).digest('base64')
}
