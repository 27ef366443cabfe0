/** How a device sends by MQTT: a connection of its own, and each report published until it is answered. Reports that waited are published in order. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MqttClient } from 'mqtt'
import { generationOf, type Report } from './bodies.ts'
import type { Verdict } from './records.ts'
import type { Sender, SenderOptions, SentReport } from './sender.ts'

interface MqttSender extends Sender {
  close(): Promise<void>
}

interface Answer {
  readonly verdict?: Verdict
  readonly revision?: string
  readonly status?: number
  readonly detail?: string
}

interface Device {
  readonly client: MqttClient
  /** By correlation data. */
  readonly waiting: Map<string, (answer: Answer) => void>
  /** Times that the connection was lost. */
  losses: number
}

/** Milliseconds. */
const answerTimeout = 5_000
const retryInterval = 500
/**
 * A broker delivers a report again to a server that did not acknowledge it, and its device does not see that. So an answer that takes
 * longer may be that to a repeat.
 */
const usualTime = 1_000

/** `url`: the broker. */
export async function createMqttSender({
  url,
  tokenOf,
  obtainToken,
  tryFailed,
  signal,
}: SenderOptions): Promise<MqttSender> {
  const { connect } = await import('mqtt')
  const devices = new Map<string, Device>()

  function deviceOf(reporter: string): Device {
    const known = devices.get(reporter)
    if (known) return known
    const level = levelOf(reporter)
    // Without a last will: a report that ends an absence is a change, and the ledger knows no absences at the broker.
    const client = connect(url, {
      protocolVersion: 5,
      clientId: `${level}-${randomUUID()}`,
      reconnectPeriod: retryInterval,
      reconnectOnConnackError: true,
    })
    const device: Device = { client, waiting: new Map(), losses: 0 }
    client.on('error', () => undefined)
    client.on('close', () => {
      device.losses += 1
    })
    client.on('message', (_, payload, { properties }) =>
      device.waiting.get(properties?.correlationData?.toString() ?? '')?.(JSON.parse(payload.toString())),
    )
    client.subscribe(`rollcall/${level}/responses`, { qos: 1 })
    devices.set(reporter, device)
    return device
  }

  /** Publishes once. Null: no answer in time. */
  async function attempt(report: Report, id: string, answered: Promise<Answer>): Promise<Answer | null> {
    const { reporter } = report.deployment.device
    const level = levelOf(reporter)
    const token = tokenOf(reporter)
    deviceOf(reporter).client.publish(
      `rollcall/${level}/deployments/${levelOf(report.deployment.deploymentId)}/status`,
      JSON.stringify(generationOf(report).body(report)),
      {
        qos: 1,
        properties: {
          responseTopic: `rollcall/${level}/responses`,
          correlationData: Buffer.from(id),
          ...(token !== undefined && { userProperties: { authorization: `Bearer ${token}` } }),
        },
      },
    )
    const over = new AbortController()
    const late = sleep(answerTimeout, null, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => null)
    return Promise.race([answered, late]).finally(() => over.abort())
  }

  async function sendOne(report: Report): Promise<{ result: SentReport; isRepeat: boolean } | null> {
    const { reporter } = report.deployment.device
    const device = deviceOf(reporter)
    const [began, losses] = [performance.now(), device.losses]
    for (let tries = 1; !signal.aborted; tries += 1) {
      const id = randomUUID()
      const answered = new Promise<Answer>((resolve) => device.waiting.set(id, resolve))
      const answer = await attempt(report, id, answered)
      device.waiting.delete(id)
      if (answer?.status === 401 && tokenOf(reporter) === undefined) {
        await obtainToken(reporter)
        if (tokenOf(reporter) !== undefined) continue
      }
      if (answer && answer.status !== 429 && (answer.status ?? 200) < 500) {
        const isLate = performance.now() - began > usualTime
        return { result: toResult(answer), isRepeat: tries > 1 || isLate || device.losses > losses }
      } else {
        tryFailed(answer ? 'rejected' : 'unanswered')
        await sleep(retryInterval, undefined, { signal }).catch(() => undefined)
      }
    }
    return null
  }

  return {
    async send(reports) {
      const results: SentReport[] = []
      let isRepeat = false
      for (const report of reports) {
        const sent = await sendOne(report)
        if (!sent) return null
        results.push(sent.result)
        isRepeat ||= sent.isRepeat
      }
      return { results, isRepeat }
    },
    async close() {
      await Promise.all([...devices.values()].map(({ client }) => client.endAsync(true)))
    },
  }
}

function toResult({ verdict, revision, status, detail }: Answer): SentReport {
  if (verdict !== undefined && revision !== undefined) return { verdict, revision: Number(revision) }
  return { verdict: 'REFUSED', reason: `${status} ${detail ?? ''}`.trim() }
}

function levelOf(id: string): string {
  return id.replace(/[%/+#]/g, encodeURIComponent)
}
