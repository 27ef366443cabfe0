/**
 * Receives the messages of one session.
 *
 *   PUBLISH → its device's lane → committed → answer → PUBACK         the last two in the order of arrival, as MQTT requires for PUBACK
 *
 * The client library acknowledges a message when `handleMessage` calls back, and handles no other message until then: one report a
 * transaction. If `handleMessage` calls back with an error, the library sends nothing and goes on. So each message ends that way, and the
 * acknowledgement is written here after COMMIT. What was not acknowledged when a connection or a process ended is delivered again.
 *
 * An answer is sent with its acknowledgement. If it came before, a device could send its next report while the broker still has to deliver
 * the first one again, behind the next one's state.
 */
import { generate, type IPublishPacket } from 'mqtt-packet'
import { type Connection, receiveMaximum } from './connection.ts'
import type { Lanes } from './lanes.ts'

export interface Message {
  readonly topic: string
  readonly payload: Buffer
  readonly properties: NonNullable<IPublishPacket['properties']>
}

export interface Intake {
  /** Messages that are not acknowledged. */
  size(): number
  /** Takes no further message, and resolves when those that were taken are acknowledged. */
  finish(): Promise<void>
}

export interface IntakeOptions {
  readonly connection: Connection
  readonly lanes: Lanes
  /** Resolves after COMMIT with what sends the answer. Rejects only if the message must be delivered again. */
  readonly take: (message: Message) => Promise<SendAnswer>
  /** A message without an acknowledgement was dropped because too many were waiting. */
  readonly dropped: () => void
  /** Bytes of messages in memory. Above, the connection is not read. */
  readonly mostBytes?: number
}

export type SendAnswer = () => Promise<void>

interface Entry {
  readonly message: Message
  /** Null: the message is in work. */
  answer: SendAnswer | null
}

/** Messages without an acknowledgement (QoS 0) that wait. The broker limits the others (receive maximum). */
const mostUnacknowledged = 256

const later = new Error('acknowledged after COMMIT')

export function createIntake({ connection, lanes, take, dropped, mostBytes = 32 << 20 }: IntakeOptions): Intake {
  const { client } = connection
  /** By packet ID. They outlive the connection: a message that is delivered again joins its work instead of being taken twice. */
  const entries = new Map<number, Entry>()
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
    const entry: Entry = { message: { topic, payload: body, properties }, answer: null }
    // Of the whole packet: its user properties can be larger than its payload.
    const size = length ?? body.length
    bytes += size
    const settled = lanes
      .run(topic, async () => {
        const answer = await take(entry.message)
        entry.answer = answer
        if (qos === 0) await answer()
      })
      .catch(() => undefined)
      .finally(() => {
        works.delete(settled)
        bytes -= size
        readOn()
        void acknowledge()
      })
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
      await first.entry.answer().catch(() => undefined)
      // The connection was lost meanwhile: the list is a new one.
      if (acknowledgements[0] !== first) continue
      acknowledgements.shift()
      if (entries.get(first.id) === first.entry) entries.delete(first.id)
      client.stream.write(generate({ cmd: 'puback', messageId: first.id, reasonCode: 0 }, { protocolVersion: 5 }))
    }
  }

  client.handleMessage = (packet, done) => {
    if (isFinishing) return
    const { messageId: id } = packet
    if (packet.qos === 0 || id === undefined) {
      if (works.size < 2 * mostUnacknowledged) begin(packet)
      else dropped()
    } else {
      const known = entries.get(id)
      const entry = known && packet.dup && isSame(known.message, packet) ? known : begin(packet)
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

function isSame({ topic, payload }: Message, packet: IPublishPacket): boolean {
  return topic === packet.topic && payload.equals(Buffer.from(packet.payload))
}
