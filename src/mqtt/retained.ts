/** What the broker has retained, read back from it: after a restart it may have nothing, or what it had some time ago. */
import { randomUUID } from 'node:crypto'
import type { Connection } from './connection.ts'

/** Bytes of a payload that are kept. */
const longestMarker = 200

/**
 * The retained messages below a filter, by topic. A broker sends them when a client subscribes, and does not say which is the last. So a message
 * to this client alone follows them. Null: the connection was lost. Throws if the broker refuses the subscription or that message, which would never
 * arrive.
 */
export async function readRetained(
  { client }: Connection,
  prefix: string,
  filter: string,
): Promise<ReadonlyMap<string, string> | null> {
  const last = `${prefix}/present/read/${randomUUID()}`
  const found = new Map<string, string>()
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const receive = (topic: string, payload: Buffer): void => {
    if (topic === last) resolve(true)
    else found.set(topic, payload.subarray(0, longestMarker).toString())
  }
  const interrupt = (): void => resolve(false)
  client.on('message', receive)
  client.once('close', interrupt)
  try {
    await client.subscribeAsync([filter, last], { qos: 1 })
    client.publish(last, '', { qos: 1 }, (error) => error && reject(error))
    const isWhole = await promise
    if (isWhole) await client.unsubscribeAsync([filter, last])
    return isWhole ? found : null
  } finally {
    client.off('message', receive)
    client.off('close', interrupt)
  }
}
