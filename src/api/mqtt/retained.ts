/** What the broker has retained, read back from it: after a restart it may have nothing, or what it had some time ago. */
import { randomUUID } from 'node:crypto'
import type { IPublishPacket } from 'mqtt-packet'
import { topicOf } from '../rest/contract/topics.ts'
import type { Connection } from './connection.ts'

/** Bytes of a payload that are kept. */
const longestMarker = 200
/** Milliseconds between two messages of the broker. */
const longestPause = 30_000
/** Messages in one part. */
const partSize = 500

interface RetainedOptions {
  readonly prefix: string
  readonly filter: string
  /** Gets the messages in parts, by topic. The connection is not read meanwhile, so it must not wait for the broker. False: the rest is not needed. */
  readonly take: (part: ReadonlyMap<string, string>) => Promise<boolean>
  /** Milliseconds that the broker may send nothing. */
  readonly pause?: number | undefined
}

/**
 * Reads the retained messages below a filter. A broker sends them when a client subscribes, and does not say which is the last. So a message
 * to this client alone follows them. False: the connection was lost, or was ended here because the broker sent nothing for too long. A limit of
 * the whole was rejected: a large fleet takes long. Throws if the broker refuses the subscription or that message, which would never arrive.
 */
export async function readRetained(
  { client, interrupt }: Connection,
  { prefix, filter, take, pause = longestPause }: RetainedOptions,
): Promise<boolean> {
  // A client that has lost its connection keeps a subscription for the next one, which never comes.
  if (!client.connected) return false
  const last = topicOf(prefix, 'reading', { id: randomUUID() })
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  let part = new Map<string, string>()
  let late: NodeJS.Timeout | undefined
  let isOver = false
  const expectMore = (): void => {
    clearTimeout(late)
    if (!isOver)
      late = setTimeout(() => interrupt('the MQTT broker sends no retained messages: connecting again'), pause)
  }

  async function receive({ topic, payload }: IPublishPacket): Promise<void> {
    // An empty payload is no retained message: another client withdraws one now.
    if (topic !== last && payload.length > 0)
      part.set(topic, Buffer.from(payload).subarray(0, longestMarker).toString())
    if (isOver || (topic !== last && part.size < partSize)) return expectMore()
    const full = part
    part = new Map()
    clearTimeout(late)
    const isWanted = await take(full)
    if (topic === last || !isWanted) resolve(true)
    expectMore()
  }

  const leave = (): void => resolve(false)
  const usual = client.handleMessage
  // The library reads the next message when this one is done.
  client.handleMessage = (packet, done) => {
    receive(packet)
      .catch(reject)
      .finally(() => done())
  }
  client.once('close', leave)
  expectMore()
  try {
    await Promise.race([client.subscribeAsync([filter, last], { qos: 1 }), promise])
    client.publish(last, '', { qos: 1 }, (error) => error && reject(error))
    const isRead = await promise
    if (isRead) client.unsubscribe([filter, last])
    return isRead
  } finally {
    isOver = true
    clearTimeout(late)
    client.handleMessage = usual
    client.off('close', leave)
  }
}
