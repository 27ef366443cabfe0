/** What the broker has retained, read back from it: after a restart it may have nothing, or what it had some time ago. */
import { randomUUID } from 'node:crypto'
import type { Connection } from './connection.ts'

/** Bytes of a payload that are kept. */
const longestMarker = 200
/** Milliseconds between two messages of the broker. */
const longestPause = 30_000

/**
 * The retained messages below a filter, by topic. A broker sends them when a client subscribes, and does not say which is the last. So a message
 * to this client alone follows them. Null: the connection was lost, or was ended here because the
 * broker sent nothing for too long. A limit of the whole was rejected: a large fleet takes long. Throws if the broker refuses the subscription or
 * that message, which would never arrive.
 */
export async function readRetained(
  { client, interrupt }: Connection,
  prefix: string,
  filter: string,
  pause: number = longestPause,
): Promise<ReadonlyMap<string, string> | null> {
  // A client that has lost its connection keeps a subscription for the next one, which never comes.
  if (!client.connected) return null
  const last = `${prefix}/present/read/${randomUUID()}`
  const found = new Map<string, string>()
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const late = setTimeout(() => interrupt('the MQTT broker sends no retained messages: connecting again'), pause)
  const receive = (topic: string, payload: Buffer): void => {
    late.refresh()
    if (topic === last) resolve(true)
    else found.set(topic, payload.subarray(0, longestMarker).toString())
  }
  const leave = (): void => resolve(false)
  client.on('message', receive)
  client.once('close', leave)
  try {
    await Promise.race([client.subscribeAsync([filter, last], { qos: 1 }), promise])
    client.publish(last, '', { qos: 1 }, (error) => error && reject(error))
    const isWhole = await promise
    if (isWhole) client.unsubscribe([filter, last])
    return isWhole ? found : null
  } finally {
    clearTimeout(late)
    client.off('message', receive)
    client.off('close', leave)
  }
}
