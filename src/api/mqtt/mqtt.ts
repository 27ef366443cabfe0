/**
 * MQTT 5: devices report through a broker. This folder is loaded only where MQTT_URL is set.
 *
 *   sessions.ts    which sessions of the shared subscription this server holds
 *   subscription.ts  makes the subscription of a session, again where it is refused
 *   session.ts     one of them: receives the messages of devices, and answers
 *   intake.ts      receives, and acknowledges after COMMIT
 *   take.ts        one report: the parsers, credentials, limits and writer of HTTP
 *   publisher.ts   the present and the changes of the fleet, to the broker
 */

import type { AccessScope } from '../../domain/access-scope.ts'
import type { Hub } from '../../feed/hub.ts'
import type { Writer } from '../../ingest/writer.ts'
import type { Metrics } from '../../outlets/metrics/metrics.ts'
import type { Admission } from '../../platform/limits/admission.ts'
import { createRequestIds, type Log } from '../../platform/log/log.ts'
import type { Database } from '../../store/database.ts'
import { createDeviceAuth, type DeviceAuthConfig, type DeviceAuthDeps } from '../auth/devices/device-auth.ts'
import { createBrokerOutages } from './broker-outages.ts'
import { type MqttConfig, openConnection, readCertificates, retryInterval } from './connection.ts'
import { createLanes } from './lanes.ts'
import { createMqttMetrics, type SessionCounts } from './metrics.ts'
import { encodePacketLengths } from './packet-lengths.ts'
import { createPublisher } from './publisher.ts'
import { openSession } from './session.ts'
import { createSessions, type Session } from './sessions.ts'
import type { SubscriptionState } from './subscription.ts'
import { takeMessage } from './take.ts'
import { subjectOf } from './topics.ts'

interface Mqtt {
  /** Sessions of this server, by state. */
  sessions(): SessionCounts
  stop(): Promise<void>
}

export interface MqttDeps {
  readonly config: MqttConfig
  readonly deviceAuth: DeviceAuthConfig
  readonly database: Database
  readonly writer: Writer
  readonly hub: Pick<Hub, 'onMove'>
  readonly admission: Pick<Admission, 'admitDevice'>
  /** STRICT_REPORTS. */
  readonly isStrict: boolean
  readonly metrics: Metrics
  /** Receives every refused credential. */
  readonly refused: NonNullable<DeviceAuthDeps['refused']>
  readonly log: Log
  readonly clock: () => number
  /** Milliseconds between renewals of leases. */
  readonly interval?: number
}

export function createMqtt(deps: MqttDeps): Mqtt {
  const { config, database, writer, metrics, log, clock, interval = 2_500 } = deps
  const { prefix } = config
  encodePacketLengths()
  const requestIds = createRequestIds()
  const connecting = {
    certificates: readCertificates(config.files),
    outages: createBrokerOutages(log, { first: retryInterval, longest: 10_000 }),
  }
  let isStopped = false
  const counted = createMqttMetrics(metrics.registry, {
    sessions: countSessions,
    unacknowledged: () => sessions.held().reduce((sum, session) => sum + session.size(), 0),
  })

  function countSessions(): SessionCounts {
    const states = sessions.held().map((session) => session.state())
    const count = (wanted: SubscriptionState): number => states.filter((state) => state === wanted).length
    return { connected: count('made'), refused: count('refused'), disconnected: count('pending') }
  }

  const taking = {
    ...deps,
    prefix,
    devices: createDeviceAuth({
      config: { ...deps.deviceAuth, methods: methodsOf(deps.deviceAuth.methods) },
      database,
      writer,
      publicUrl: `mqtt://${prefix}`,
      clock,
      refused: deps.refused,
    }),
    nextId: () => requestIds(undefined),
    isStopped: () => isStopped,
    isInOrder: config.sessions === 1,
  }
  // Shared by all sessions: the messages of one device may arrive on several.
  const lanes = createLanes((topic) => subjectOf(prefix, topic)?.device ?? '')

  const open = (index: number): Session =>
    openSession(
      {
        config,
        log,
        connecting,
        lanes,
        metrics: counted,
        take: (subject, message) => takeMessage(taking, subject, message),
      },
      index,
    )
  const leasing = { database, log, clock, interval }
  const sessions = createSessions({ ...leasing, count: config.sessions, name: 'mqtt:session', open })

  function openPublisher(scope: AccessScope | null): Session {
    const publisher = createPublisher({
      ...{ database, hub: deps.hub, prefix, scope, log, clock, tooLarge: counted.publicationTooLarge },
      open: () => openConnection(config, 'out', log, { ...connecting, isLasting: false }),
    })
    const state = () => (publisher.isConnected() ? 'made' : 'pending')
    return { size: () => 0, state, stop: publisher.stop, drop: publisher.stop }
  }

  const { publish } = config
  const publishers =
    publish &&
    createSessions({ ...leasing, count: 1, name: 'mqtt:publisher', open: () => openPublisher(publish.scope) })
  return {
    sessions: countSessions,
    async stop() {
      isStopped = true
      await Promise.all([sessions.stop(), publishers?.stop()])
    },
  }
}

/** The broker checks certificates, so a certificate is proved by the topic that it may publish to. */
function methodsOf(methods: DeviceAuthConfig['methods']): DeviceAuthConfig['methods'] {
  return [...new Set(methods.map((method) => (method === 'mtls' ? 'open' : method)))]
}
