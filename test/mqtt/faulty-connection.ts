/** Connections of a server to a faulty broker, with what they log. */
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { createBrokerOutages } from '../../src/api/mqtt/broker-outages.ts'
import { type Connection, openConnection } from '../../src/api/mqtt/connection.ts'
import { createLog } from '../../src/platform/log/log.ts'
import type { FaultyBroker } from '../support/systems/faulty-broker.ts'

const config = {
  ...{ user: null, password: null, files: { ca: null, cert: null, key: null }, clientId: 'rollcall', group: 'g' },
  ...{ prefix: 'rollcall', sessions: 1, publish: null },
}

/** A log whose lines a test reads. */
export function createLines() {
  const lines: string[] = []
  const log = createLog({ level: 'info', to: { write: (line: string) => void lines.push(JSON.parse(line).msg) } })
  return { lines, log }
}

export function connectTo(
  broker: FaultyBroker,
  { isLasting = true, log = createLines().log, patience = 50 } = {},
): Connection {
  const outages = createBrokerOutages(log, { first: 1_000, longest: 1_000 })
  const options = { certificates: {}, isLasting, outages, patience }
  return openConnection({ ...config, url: broker.url }, 'in-0', log, options)
}

export const count = (broker: FaultyBroker, cmd: Packet['cmd']): number =>
  broker.received.filter((packet) => packet.cmd === cmd).length

export const reportPacket = (messageId: number, more: Partial<IPublishPacket> = {}): IPublishPacket => ({
  ...{ cmd: 'publish', qos: 1, dup: false, retain: false, messageId, payload: '{}' },
  topic: `rollcall/edge-${messageId}/deployments/d/status`,
  ...more,
})
