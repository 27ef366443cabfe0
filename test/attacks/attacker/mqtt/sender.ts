/** Sends messages through a broker, and says what came of them in the terms of HTTP. */
import { connectAsync, type IClientOptions, type IClientPublishOptions, type MqttClient } from 'mqtt'
import { lost, type Sent } from '../sender.ts'
import type { MqttInput } from './inputs.ts'

export interface MqttSender {
  send(input: MqttInput, token: string | null): Promise<Sent>
  close(): Promise<void>
}

const prefix = 'rollcall'
/** Milliseconds without an answer: longer than any limit of the server's. */
const silence = 60_000
/** Bytes of a packet that a server accepts; the broker drops larger ones. The topic and other properties count too. */
const mostBytes = (2 << 20) - (64 << 10)
/** Milliseconds after which a message is left that the broker neither takes nor refuses. */
const patience = 500
const mostText = 4_000

/** The topics of devices: what the server subscribes to. */
const heard = /^rollcall\/[^/]*\/(deployments\/[^/]*\/status|connection)$/

export async function createMqttSender(url: string): Promise<MqttSender> {
  const waiting = new Map<string, (answer: Sent) => void>()
  let messages = 0
  const client = await open(url, { reconnectPeriod: 100 })
  client.on('message', (_, payload, { properties }) => {
    const text = payload.toString('utf8', 0, mostText)
    const [, status = '200'] = /"status":(\d+)/.exec(text) ?? []
    waiting.get(String(properties?.correlationData))?.({ ...lost, status: Number(status), text })
  })
  await client.subscribeAsync(`${prefix}/+/responses`, { qos: 1 })
  await received(client)

  function optionsOf(
    { qos, retain, contentType, userProperties, responseTopic, level }: MqttInput,
    token: string | null,
  ) {
    messages += 1
    const id = `m${messages}`
    const own = { ...userProperties, ...(token !== null && { authorization: `Bearer ${token}` }) }
    const properties = {
      ...{ responseTopic: responseTopic ?? `${prefix}/${level}/responses`, correlationData: Buffer.from(id) },
      // The library cannot send none of them.
      ...(Object.keys(own).length > 0 && { userProperties: own }),
      ...(contentType !== undefined && { contentType }),
    }
    return { id, options: { qos, retain, properties } satisfies IClientPublishOptions }
  }

  /** Every message that the server hears and may answer is answered. One with QoS 1 and without an answer counts as a failure. */
  async function answered(input: MqttInput, id: string, send: () => Promise<unknown>): Promise<Sent> {
    const size = input.payload.length + JSON.stringify(input.userProperties).length
    const isAnswered = heard.test(input.topic) && input.responseTopic === null && size < mostBytes
    const isSure = input.qos === 1
    const missing = isSure ? { ...lost, status: 504, text: 'no answer by MQTT' } : lost
    const answer = new Promise<Sent>((resolve) => {
      const timer = setTimeout(resolve, isSure ? silence : patience, missing)
      waiting.set(id, (one) => {
        clearTimeout(timer)
        resolve(one)
      })
    })
    try {
      await send()
      return isAnswered ? await answer : lost
    } finally {
      waiting.get(id)?.(lost)
      waiting.delete(id)
    }
  }

  function publish(input: MqttInput, token: string | null): Promise<Sent> {
    const { id, options } = optionsOf(input, token)
    return answered(input, id, () => client.publishAsync(input.topic, input.payload, options))
  }

  /** The broker publishes the will when the connection is gone. */
  function leaveWill(input: MqttInput, token: string | null): Promise<Sent> {
    const { id, options } = optionsOf(input, token)
    return answered(input, id, async () => {
      const mortal = await open(url, { will: { topic: input.topic, payload: input.payload, ...options } })
      mortal.stream.destroy()
      mortal.end(true)
    })
  }

  async function beRude(input: MqttInput, token: string | null): Promise<Sent> {
    const rude = await open(url, {})
    const { options } = optionsOf(input, token)
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patience)
      rude.once('close', resolve)
      rude.publish(input.topic, input.payload, options, () => {
        clearTimeout(timer)
        resolve()
      })
    })
    rude.end(true)
    return lost
  }

  return {
    send(input, token) {
      const act = { publish, will: leaveWill, rude: beRude }[input.way]
      return act(input, token).catch(() => lost)
    },
    async close() {
      client.end(true)
    },
  }
}

async function open(url: string, options: IClientOptions): Promise<MqttClient> {
  // False: rejects when the broker refuses the connection.
  const client = await connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0, clean: true, ...options }, false)
  client.on('error', () => undefined)
  return client
}

/** Until the server has subscribed, the broker has no receiver for a message and says so. */
async function received(client: MqttClient): Promise<void> {
  const noReceiver = 0x10
  for (let reason = noReceiver; reason === noReceiver; ) {
    const answer = new Promise<number>((resolve) =>
      client.once('packetreceive', (packet) =>
        resolve(packet.cmd === 'puback' ? (packet.reasonCode ?? 0) : noReceiver),
      ),
    )
    await client.publishAsync(`${prefix}/m-1/connection`, 'online', { qos: 1 })
    reason = await answer
    if (reason === noReceiver) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
