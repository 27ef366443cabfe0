/** A device that reports by MQTT 5 and waits for the answers to its reports. */
import { randomUUID } from 'node:crypto'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { vi } from 'vitest'
import { expectDescribed } from '../asyncapi.ts'
import type { RunningApp } from '../servers/app.ts'

interface MqttAnswer {
  readonly contentType: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly body: any
}

export interface MqttDevice {
  readonly client: MqttClient
  /** Publishes a body, and resolves with the answer. */
  send(topic: string, body: unknown, more?: Sending): Promise<MqttAnswer>
  report(deploymentId: string, state: string, more?: Sending & { readonly body?: object }): Promise<MqttAnswer>
  close(): Promise<void>
}

export interface Sending {
  readonly userProperties?: Record<string, string | string[]>
  readonly contentType?: string
}

/** Resolves when the server has subscribed: before that, the broker has no receiver for a report. */
export async function receiving(server: RunningApp, times = 1): Promise<void> {
  const lines = (): number => server.logged.filter(({ msg }) => msg === 'reports are received by MQTT').length
  await vi.waitUntil(() => lines() >= times, { timeout: 60_000 })
}

export const bodyOf = (deploymentId: string, state: string, more: object = {}) => ({
  deploymentId,
  status: { state },
  components: [],
  ...more,
})

export async function connectDevice(
  url: string,
  deviceId: string,
  { prefix = 'rollcall', ...options }: IClientOptions & { readonly prefix?: string } = {},
): Promise<MqttDevice> {
  const client = await connectAsync(url, {
    protocolVersion: 5,
    clientId: `device-${deviceId}-${randomUUID().slice(0, 8)}`,
    reconnectPeriod: 50,
    ...options,
  })
  const responses = `${prefix}/${deviceId}/responses`
  const waiting = new Map<string, (answer: MqttAnswer) => void>()
  client.on('error', () => {})
  client.on('message', (topic, payload, { properties }) => {
    if (!topic.startsWith(responses)) return
    const id = properties?.correlationData?.toString() ?? ''
    const [contentType, body] = [properties?.contentType, JSON.parse(payload.toString())]
    expectDescribed('answer', contentType === 'application/json' ? 'acknowledgement' : 'refusal', {
      payload: body,
      contentType,
    })
    waiting.get(id)?.({ contentType, body })
    waiting.delete(id)
  })
  await client.subscribeAsync(`${responses}/#`, { qos: 1 })

  const send: MqttDevice['send'] = (topic, body, { userProperties, contentType } = {}) => {
    const id = randomUUID()
    const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const answer = new Promise<MqttAnswer>((resolve) => waiting.set(id, resolve))
    client.publish(topic, payload, {
      qos: 1,
      properties: {
        responseTopic: responses,
        correlationData: Buffer.from(id),
        ...(userProperties && { userProperties }),
        ...(contentType !== undefined && { contentType }),
      },
    })
    return answer
  }
  return {
    client,
    send,
    report: (deploymentId, state, { body, ...more } = {}) =>
      send(`${prefix}/${deviceId}/deployments/${deploymentId}/status`, bodyOf(deploymentId, state, body), more),
    close: () => client.endAsync(true),
  }
}
