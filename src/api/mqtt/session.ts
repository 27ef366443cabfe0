/** One session of the shared subscription: a connection that receives the messages of devices, and answers them after COMMIT. */
import type { Log } from '../../platform/log/log.ts'
import { type ConnectionOptions, type MqttConfig, openConnection, PacketTooLarge } from './connection.ts'
import { createIntake, type Message } from './intake.ts'
import type { Lanes } from './lanes.ts'
import type { MqttMetrics } from './metrics.ts'
import type { Session } from './sessions.ts'
import { keepSubscription } from './subscription.ts'
import type { Answer } from './take.ts'
import { filtersOf, mayAnswer, type Subject, subjectOf } from './topics.ts'

interface SessionDeps {
  readonly config: MqttConfig
  readonly log: Log
  readonly connecting: Pick<ConnectionOptions, 'certificates' | 'outages'>
  /** Shared by all sessions: the messages of one device may arrive on several. */
  readonly lanes: Lanes
  readonly metrics: MqttMetrics
  readonly take: (subject: Subject, message: Message) => Promise<Answer>
}

interface AnswerTo {
  readonly responseTopic: string | undefined
  readonly correlationData: Buffer | undefined
}

export function openSession({ config, log, connecting, lanes, metrics, take }: SessionDeps, index: number): Session {
  const { prefix, group } = config
  const connection = openConnection(config, `in-${index}`, log, { ...connecting, isLasting: true })
  const { client } = connection
  let isRefusalLogged = false
  client.on('connect', () => {
    isRefusalLogged = false
  })

  /** The device sends a report again if it gets no answer. A broker that refuses answers is in the log once for each connection. */
  function noteUnanswered(error: unknown): void {
    if (!isRefusal(error)) return
    metrics.answerRefused()
    if (!isRefusalLogged) log.error({ session: index, error }, 'the MQTT broker refuses answers: check its topic rules')
    isRefusalLogged = true
  }

  async function answer(
    subject: Subject,
    { responseTopic, correlationData }: AnswerTo,
    { contentType, body }: Answer,
  ): Promise<void> {
    if (responseTopic === undefined) return
    if (!mayAnswer(prefix, subject, responseTopic)) return metrics.answerDropped()
    const more = correlationData === undefined ? {} : { correlationData }
    const send = (text: string) => connection.publish(responseTopic, text, { properties: { contentType, ...more } })
    try {
      const { acknowledged } = await send(body).catch((error: unknown) => {
        if (!(error instanceof PacketTooLarge)) throw error
        return send(withoutFields(body))
      })
      acknowledged.catch(noteUnanswered)
    } catch (error) {
      if (!(error instanceof PacketTooLarge)) throw error
      metrics.answerDropped()
    }
  }

  const intake = createIntake({
    connection,
    lanes,
    async take(message) {
      const subject = subjectOf(prefix, message.topic)
      if (subject === null) return async () => {}
      const taken = await take(subject, message)
      metrics.messageTaken(subject.kind, taken.status === 200 ? 'taken' : 'refused')
      // Only some of its properties, because all of them can be large.
      const { responseTopic, correlationData } = message.properties
      return () => answer(subject, { responseTopic, correlationData }, taken)
    },
    dropped: () => metrics.messageTaken('report', 'dropped'),
  })
  const subscription = keepSubscription({
    ...{ connection, filters: filtersOf(prefix, group), session: index, log, refused: metrics.subscriptionRefused },
  })
  return {
    size: intake.size,
    state: subscription.state,
    async stop() {
      subscription.close()
      await intake.finish()
      await connection.close(client.connected)
    },
    drop() {
      subscription.close()
      return connection.close(false)
    },
  }
}

/** The list of fields can be many times as long as the report. Without any answer the device would send it again and again. */
function withoutFields(answer: string): string {
  const { errors, warnings, ...rest } = JSON.parse(answer) as Readonly<Record<string, unknown>>
  return JSON.stringify({ ...rest, ...(errors ? { errors: [] } : {}), ...(warnings ? { warnings: [] } : {}) })
}

/** An acknowledgement (PUBACK) with the reason of a failure. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && error.code >= 0x80
}
