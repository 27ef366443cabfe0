/**
 * Publishes the fleet to the broker: the present of each deployment and rollout as retained messages, and each change once.
 *
 *   connected → compare the broker's marker with the position → reconcile → read the log → publish → acknowledged → marker → position
 *
 * From an older marker the log is published again, and without a usable marker everything is.
 */
import type { AccessScope } from '../../domain/access-scope.ts'
import type { Change } from '../../domain/change.ts'
import { escapeHidden } from '../../domain/look-alike.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Hub } from '../../feed/hub.ts'
import type { Log } from '../../platform/log/log.ts'
import { createRounds } from '../../platform/timing/rounds.ts'
import { readHead } from '../../store/connection/log-head.ts'
import type { Database, LogHead } from '../../store/database.ts'
import { noteDuty, readCursor } from '../../store/duties.ts'
import { withScope } from '../../store/read/access-scope.ts'
import { readLog } from '../../store/read/changes/changes.ts'
import { deploymentsAfter, rolloutsAfter } from '../../store/sinks/published.ts'
import { brokerLost, type Connection, PacketTooLarge, retryInterval } from './connection.ts'
import { markerOf, markerTopicOf, readMarker } from './marker.ts'
import {
  type DeploymentSubject,
  describeVisible,
  type Publication,
  presentInParts,
  presentRollouts,
  resetOf,
} from './present.ts'
import { findStrays } from './strays.ts'

interface PublisherOptions {
  readonly database: Database
  readonly hub: Pick<Hub, 'onMove'>
  /** A connection that ends with its first loss: a message that an earlier connection could not send must not follow newer ones. */
  readonly open: () => Connection
  readonly prefix: string
  /** Null: the whole fleet. */
  readonly scope: AccessScope | null
  readonly log: Log
  /** The broker accepts no message of that size. */
  readonly tooLarge?: () => void
  readonly clock: () => Millis
  /** Milliseconds between complete comparisons of a restricted scope, because a device's labels can change without a change in the log. */
  readonly comparison?: number
  /** Milliseconds that the broker may pause while its retained messages are read. */
  readonly pause?: number
  /** Topics that are withdrawn in one round because the fleet has nothing for them. */
  readonly mostStrays?: number
}

interface Publisher {
  isConnected(): boolean
  stop(): Promise<void>
}

/** What is known of the broker by one connection. */
interface BrokerState {
  readonly connection: Connection
  isReconciled: boolean
  isLost: boolean
  isTooLargeLogged: boolean
  reconciledAt: Millis
  epoch: Revision
  /** Topics with a retained message, where the scope is restricted: no other topic is withdrawn, because its name would be shown. */
  readonly retainedTopics: Set<string>
}

/** The duty whose cursor is the position. */
const dutyName = 'mqtt'
/** Entries of the log, or rows, that are read at a time. */
const step = 500

export function createPublisher(options: PublisherOptions): Publisher {
  const { database, hub, open, prefix, scope, log, tooLarge = () => {}, clock } = options
  const { comparison = 600_000, pause, mostStrays = 10_000 } = options
  const { session } = database
  const scoped = withScope(session, scope)
  const markerTopic = markerTopicOf(prefix)
  const rounds = createRounds(round, interval)
  let broker = connect()
  let isStopped = false
  let retry: NodeJS.Timeout | undefined
  /** Since when no round has succeeded. Every second has an attempt, so a line for each would hide all others. */
  let failingSince: Millis | null = null

  function connect(): BrokerState {
    const connection = open()
    const made: BrokerState = {
      connection,
      isReconciled: false,
      isLost: false,
      isTooLargeLogged: false,
      reconciledAt: 0,
      epoch: 0,
      retainedTopics: new Set(),
    }
    connection.client.on('connect', rounds.request)
    connection.client.once('close', () => {
      made.isLost = true
      void connection.close(false)
      retry = setTimeout(() => {
        if (!isStopped) broker = connect()
      }, retryInterval)
    })
    return made
  }

  /**
   * A message that is larger than the broker accepts is sent without content: an older retained message must not stand for it, and a subscriber must
   * know of the change. Null: it is too large without content, too.
   */
  async function send(
    to: BrokerState,
    topic: string,
    payload: string,
    options: Parameters<Connection['publish']>[2],
  ): Promise<Awaited<ReturnType<Connection['publish']>> | null> {
    // The same JSON, also for a person who reads it at the broker.
    for (const content of new Set([escapeHidden(payload), '']))
      try {
        return await to.connection.publish(topic, content, options)
      } catch (error) {
        if (!(error instanceof PacketTooLarge)) throw error
        tooLarge()
        if (!to.isTooLargeLogged) log.warn({ topic, error }, 'a message is too large for the MQTT broker')
        to.isTooLargeLogged = true
      }
    return null
  }

  /** Resolves when the broker has all of them. Throws if the connection is lost before. */
  async function publish(to: BrokerState, publications: readonly Publication[]): Promise<void> {
    const acknowledged: Promise<void>[] = []
    for (const { topic, payload, isRetained, userProperties } of publications) {
      if (isRetained && scope !== null && topic !== markerTopic) {
        if (payload !== '') to.retainedTopics.add(topic)
        else if (!to.retainedTopics.delete(topic)) continue
      }
      if (to.isLost || isStopped) throw brokerLost()
      const properties = { contentType: 'application/json', ...(userProperties && { userProperties }) }
      const sent = await send(to, topic, payload, { retain: isRetained, ...(payload && { properties }) })
      if (sent === null) continue
      sent.acknowledged.catch(() => undefined)
      acknowledged.push(sent.acknowledged)
    }
    await Promise.all(acknowledged)
    if (to.isLost) throw brokerLost()
  }

  /** Throws if there are `mostStrays` or more: the next round goes on with the rest. */
  async function withdrawStrays(to: BrokerState): Promise<void> {
    const strays = await findStrays(to.connection, scoped, { prefix, most: mostStrays, pause })
    for (const topic of strays) to.retainedTopics.add(topic)
    await publish(
      to,
      [...strays].map((topic) => ({ topic, payload: '', isRetained: true })),
    )
    if (strays.size >= mostStrays)
      throw new Error(
        `the broker has ${mostStrays} or more retained messages below ${prefix}/present that are not of the fleet: they are withdrawn in parts`,
      )
  }

  async function publishAll(to: BrokerState): Promise<void> {
    await withdrawStrays(to)
    const put = (publications: readonly Publication[]): Promise<void> =>
      publish(
        to,
        publications.filter(({ payload }) => payload !== ''),
      )
    for (let found = await deploymentsAfter(session, 0, step); found.length > 0; ) {
      for await (const part of presentInParts(scoped, prefix, found)) await put(part)
      found = await deploymentsAfter(session, found.at(-1)?.key ?? 0, step)
    }
    for (let keys = await rolloutsAfter(session, 0, step); keys.length > 0; ) {
      await put(await presentRollouts(scoped, prefix, keys))
      keys = await rolloutsAfter(session, keys.at(-1) ?? 0, step)
    }
  }

  /** Returns the revision to continue from. */
  async function reconcile(to: BrokerState, cursor: Revision, head: LogHead): Promise<Revision> {
    const reached = await readMarker(to.connection, { prefix, head, pause })
    if (reached === null || scope !== null || cursor < head.tail) await publishAll(to)
    if (cursor < head.tail) await publish(to, [resetOf(prefix, cursor, head.tail)])
    to.isReconciled = true
    to.reconciledAt = clock()
    to.epoch = head.epochBase
    return Math.max(Math.min(cursor, reached ?? cursor), head.tail)
  }

  async function publishChanges(to: BrokerState, changes: readonly Change[]): Promise<void> {
    const deployments = new Map<number, DeploymentSubject>()
    const rollouts = new Set<number>()
    for (const { deploymentKey: key, deploymentId, rolloutKey, fromRolloutKey } of changes) {
      if (key !== null && deploymentId !== null) deployments.set(key, { key, deploymentId })
      for (const rollout of [rolloutKey, fromRolloutKey]) if (rollout !== null) rollouts.add(rollout)
    }
    for await (const part of presentInParts(scoped, prefix, deployments.values())) await publish(to, part)
    await publish(to, await presentRollouts(scoped, prefix, [...rollouts]))
    await publish(to, await describeVisible(database, scoped, prefix, changes))
  }

  async function publishNext(to: BrokerState): Promise<void> {
    const began = performance.now()
    const head = await readHead(session)
    const stored = await readCursor(session, dutyName)
    let cursor = stored === null || stored > head.revision ? head.revision : stored
    // Published changes begin here, also if the server ends before the end of its first round.
    if (stored === null) await noteRound(true, 0, cursor)
    // In either direction, because the clock of the database may have gone back.
    const isDue = scope !== null && Math.abs(clock() - to.reconciledAt) >= comparison
    if (to.isReconciled && to.epoch === head.epochBase && !isDue) {
      if (cursor === head.revision) return
    } else cursor = await reconcile(to, cursor, head)
    while (cursor < head.revision) {
      const changes = await readLog(session, cursor, step, head.revision)
      await publishChanges(to, changes)
      cursor = changes.at(-1)?.revision ?? head.revision
    }
    await publish(to, [markerOf(prefix, cursor, head.epochBase)])
    await noteRound(true, (performance.now() - began) / 1_000, cursor)
  }

  const noteRound = (isFine: boolean, seconds: number, cursor: Revision | null = null): Promise<void> =>
    noteDuty(session, { name: dutyName, at: clock(), seconds, isFine, cursor })

  function noteFailure(error: unknown): void {
    if (failingSince !== null) return
    failingSince = clock()
    log.warn({ error }, 'the fleet was not published by MQTT: trying again')
  }

  function noteSuccess(): void {
    if (failingSince === null) return
    const seconds = Math.round((clock() - failingSince) / 1_000)
    failingSince = null
    log.info({ seconds }, `the fleet is published by MQTT again after ${seconds} s`)
  }

  async function round(): Promise<boolean> {
    const to = broker
    if (!to.connection.client.connected) return false
    try {
      await publishNext(to)
      noteSuccess()
      return true
    } catch (error) {
      to.isReconciled = false
      if (isStopped) return false
      if (!to.isLost) noteFailure(error)
      await noteRound(false, 0).catch(() => undefined)
      return false
    }
  }

  const leave = hub.onMove(rounds.request)

  return {
    isConnected: () => broker.connection.client.connected,
    async stop() {
      isStopped = true
      leave()
      const stopped = rounds.stop()
      clearTimeout(retry)
      await broker.connection.close(false)
      await stopped
    },
  }
}

/** Milliseconds between rounds without a change, and after a failure. */
const interval = 1_000
