/** The metrics of MQTT. They are registered only where MQTT is configured. */
import { Counter, Gauge, type Registry } from 'prom-client'

const outcomes = ['taken', 'refused', 'dropped'] as const

export interface MqttMetrics {
  messageTaken(kind: 'report' | 'connection', outcome: (typeof outcomes)[number]): void
  answerDropped(): void
}

export interface MqttState {
  /** Sessions of this server, and those of them that are connected. */
  sessions(): { readonly held: number; readonly connected: number }
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
    help: 'Answers that were not sent, because their Response Topic does not belong to the device.',
    registers,
  })
  new Gauge({
    name: 'rollcall_mqtt_sessions',
    help: 'Sessions of the shared subscription that this server holds, by connection.',
    labelNames: ['state'],
    registers,
    collect() {
      const { held, connected } = state.sessions()
      this.set({ state: 'connected' }, connected)
      this.set({ state: 'disconnected' }, held - connected)
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
  }
}
