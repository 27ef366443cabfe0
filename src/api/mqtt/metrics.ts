/** The metrics of MQTT. They are registered only where MQTT is configured. */
import { Counter, Gauge, type Registry } from 'prom-client'

const outcomes = ['taken', 'refused', 'dropped'] as const

export interface MqttMetrics {
  messageTaken(kind: 'report' | 'connection', outcome: (typeof outcomes)[number]): void
  answerDropped(): void
  answerRefused(): void
  subscriptionRefused(): void
  publicationTooLarge(): void
}

/** Sessions by state: a `connected` one receives; a `refused` one has a connection and no subscription. */
export type SessionCounts = Readonly<Record<'connected' | 'refused' | 'disconnected', number>>

interface MqttState {
  sessions(): SessionCounts
  unacknowledged(): number
}

export function createMqttMetrics(registry: Registry, state: MqttState): MqttMetrics {
  const registers = [registry]
  const messages = new Counter({
    name: 'rollcall_mqtt_messages_total',
    help: 'Messages of devices, by kind and outcome; dropped: sent without an acknowledgement (QoS 0) while too many were waiting.',
    labelNames: ['kind', 'outcome'],
    registers,
  })
  for (const kind of ['report', 'connection']) for (const outcome of outcomes) messages.inc({ kind, outcome }, 0)
  const answers = new Counter({
    name: 'rollcall_mqtt_answers_dropped_total',
    help: 'Answers that were not sent, because their Response Topic does not belong to the device, or because the broker accepts no message of that size.',
    registers,
  })
  const refusedAnswers = new Counter({
    name: 'rollcall_mqtt_answers_refused_total',
    help: 'Answers that the broker refused, because its topic rules do not allow them.',
    registers,
  })
  const refusals = new Counter({
    name: 'rollcall_mqtt_subscriptions_refused_total',
    help: 'Subscriptions that the broker refused. Each is tried again, at growing intervals.',
    registers,
  })
  const tooLarge = new Counter({
    name: 'rollcall_mqtt_publications_too_large_total',
    help: 'Messages about the fleet that are larger than the broker accepts. They are published without content.',
    registers,
  })
  new Gauge({
    name: 'rollcall_mqtt_sessions',
    help: 'Sessions of the shared subscription that this server holds, by state; refused: connected, but the broker refuses the subscription.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [name, count] of Object.entries(state.sessions())) this.set({ state: name }, count)
    },
  })
  new Gauge({
    name: 'rollcall_mqtt_unacknowledged',
    help: 'Messages that this server has received and not acknowledged.',
    registers,
    collect() {
      this.set(state.unacknowledged())
    },
  })
  return {
    messageTaken: (kind, outcome) => messages.inc({ kind, outcome }),
    answerDropped: () => answers.inc(),
    answerRefused: () => refusedAnswers.inc(),
    subscriptionRefused: () => refusals.inc(),
    publicationTooLarge: () => tooLarge.inc(),
  }
}
