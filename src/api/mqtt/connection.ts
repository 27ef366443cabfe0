/** One connection to the broker. It reconnects by itself, and publishes no more at a time than the broker accepts. */
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable, Transform } from 'node:stream'
import { connect, type IClientPublishOptions, type MqttClient } from 'mqtt'
import { generate } from 'mqtt-packet'
import type { AccessScope } from '../../domain/access-scope.ts'
import type { Log } from '../../platform/log/log.ts'
import type { BrokerOutages } from './broker-outages.ts'
import { createPacketGuard } from './packet-guard.ts'

export interface MqttConfig {
  readonly url: string
  readonly user: string | null
  readonly password: string | null
  /** Paths of files in PEM. */
  readonly files: { readonly ca: string | null; readonly cert: string | null; readonly key: string | null }
  /** The beginning of the client IDs. */
  readonly clientId: string
  /** The name of the shared subscription. */
  readonly group: string
  /** The first levels of all topics. */
  readonly prefix: string
  /** Sessions of the shared subscription, over all servers. */
  readonly sessions: number
  /** Whether the fleet is published, and the part of it. `scope` null: all of it. */
  readonly publish: { readonly scope: AccessScope | null } | null
}

export interface Connection {
  readonly client: MqttClient
  /** Waits until the broker accepts one more message. `acknowledged` resolves when the broker has it. Throws PacketTooLarge. */
  publish(
    topic: string,
    payload: string,
    options?: Pick<IClientPublishOptions, 'retain' | 'properties'>,
  ): Promise<{ readonly acknowledged: Promise<void> }>
  /** Ends the connection because the broker misbehaves. A lasting connection is opened again. */
  interrupt(why: string): void
  /** False: drops the connection without DISCONNECT, so that the broker keeps what was not acknowledged. */
  close(isOrderly: boolean): Promise<void>
}

/**
 * The broker has announced that it accepts no message of that size. It would end the connection, and the library would send the same message by the
 * next one, and so on, without end.
 */
export class PacketTooLarge extends Error {}

/** Messages of a session that are received and not acknowledged. */
export const receiveMaximum = 256
/** Bytes. A broker drops larger messages, so a report that is somewhat too large still gets an answer. */
const largestPacket = 2 << 20
/** Packets that a broker may send besides what it was asked for, such as DISCONNECT. */
const mostUnasked = 100
/** Seconds that a broker keeps the session of a server that is gone. */
const sessionExpiry = 7 * 86_400
/** Connections by which a message is sent. A device that gets no answer reports again. */
const mostFruitless = 3
/** Milliseconds between attempts to connect. */
export const retryInterval = 1_000

/** The contents of the files. Read once at the start, so that a missing file is an error of the start. */
type Certificates = Readonly<Partial<Record<'ca' | 'cert' | 'key', Buffer>>>

export function readCertificates({ ca, cert, key }: MqttConfig['files']): Certificates {
  return {
    ...(ca !== null && { ca: readFileSync(ca) }),
    ...(cert !== null && { cert: readFileSync(cert) }),
    ...(key !== null && { key: readFileSync(key) }),
  }
}

export interface ConnectionOptions {
  readonly certificates: Certificates
  /** Whether the broker keeps the session, and the client connects again and sends again what was not acknowledged. */
  readonly isLasting: boolean
  readonly outages: BrokerOutages
  /** Milliseconds that the broker may take to acknowledge a message. */
  readonly patience?: number
}

/**
 * The kernel otherwise holds a small packet back until the broker has confirmed the one before, which it may do 40 ms later. The library has no
 * option for it. A WebSocket does so by itself.
 */
export function sendAtOnce({ stream }: MqttClient): void {
  if (stream instanceof Socket) stream.setNoDelay(true)
}

/** The library reads a stream only by a pipe into its parser, and has no option for what stands between. */
function guardStreams(client: MqttClient, createGuard: () => Transform): void {
  const building = client as unknown as { streamBuilder: (client: MqttClient) => Readable }
  const build = building.streamBuilder
  building.streamBuilder = (own) => {
    const stream = build(own)
    const pipe = stream.pipe.bind(stream)
    const guard = createGuard()
    // What a lost connection has sent besides is not read.
    stream.once('close', () => guard.destroy())
    stream.pipe = (parser, options) => pipe(guard, options).pipe(parser)
    return stream
  }
}

export function openConnection(
  config: MqttConfig,
  name: string,
  log: Log,
  { certificates, isLasting, outages, patience = 30_000 }: ConnectionOptions,
): Connection {
  const { url, user, password, clientId } = config
  const client = connect(url, {
    protocolVersion: 5,
    clientId: `${clientId}-${name}`,
    clean: !isLasting,
    // Subscriptions are made after each connection, because a broker may have lost the session.
    resubscribe: false,
    reconnectPeriod: isLasting ? retryInterval : 0,
    reconnectOnConnackError: isLasting,
    // The guard has to be there before the first stream.
    manualConnect: true,
    properties: {
      sessionExpiryInterval: isLasting ? sessionExpiry : 0,
      receiveMaximum,
      maximumPacketSize: largestPacket,
    },
    ...(user !== null && { username: user }),
    ...(password !== null && { password }),
    ...certificates,
  })
  const waiting: (() => void)[] = []
  let unacknowledged = 0
  let isClosed = false
  let isAccepted = false
  let overdue: NodeJS.Timeout | undefined
  /** Connections in a row that ended before the broker had acknowledged a message. */
  let fruitless = 0
  let isShorteningLogged = false

  client.on('connect', () => {
    isShorteningLogged = false
    outages.connected(name)
  })
  // Before the library begins to wait.
  client.prependListener('close', () => {
    const pause = outages.closed(name)
    if (isLasting) client.options.reconnectPeriod = pause
  })
  const trouble = (error: unknown, text: string): void => outages.lost(name, text, { error })
  client.on('error', (error) => trouble(error, 'the MQTT broker cannot be reached, or refuses the connection'))
  client.on('offline', () => trouble(null, 'the connection to the MQTT broker was lost'))
  client.on('disconnect', ({ reasonCode }) =>
    outages.lost(name, 'the MQTT broker ended the connection', { reasonCode }),
  )

  function interrupt(why: string): void {
    trouble(null, why)
    client.stream.destroy()
  }

  let sent = 0
  client.on('packetsend', () => {
    sent += 1
  })
  guardStreams(client, () => {
    const before = sent
    return createPacketGuard({
      largest: largestPacket,
      expected: () => sent - before + mostUnasked,
      refuse(reasonCode, why) {
        client.stream.write(generate({ cmd: 'disconnect', reasonCode }, { protocolVersion: 5 }))
        interrupt(`the MQTT broker sends ${why}: connecting again`)
      },
      shortened(topic, bytes) {
        if (!isShorteningLogged)
          log.warn(
            { session: name, topic, bytes },
            'a device sends more user properties than are read: its messages are refused',
          )
        isShorteningLogged = true
      },
    })
  })
  client.connect()

  /** A broker that acknowledges nothing may still answer pings. Without a limit its messages, and what waits for them, would never end. */
  function expectAcknowledgement(): void {
    clearTimeout(overdue)
    if (unacknowledged > 0 && isAccepted && !isClosed)
      overdue = setTimeout(() => interrupt('the MQTT broker acknowledges no message: connecting again'), patience)
  }
  /** A broker ends each connection that sends it a certain message, and the library would send that message again by each new one. */
  function giveUpMessages(): void {
    fruitless = 0
    const ids = Object.keys(client.outgoing)
    log.warn(
      { session: name, messages: ids.length },
      'the MQTT broker accepts no message: those under way are given up',
    )
    for (const id of ids) client.removeOutgoingMessage(Number(id))
  }

  // The event "connect" comes later: the library first waits until what it sends again is acknowledged.
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'puback') fruitless = 0
    if (packet.cmd !== 'connack' || packet.reasonCode !== 0) return
    if (fruitless >= mostFruitless) giveUpMessages()
    sendAtOnce(client)
    isAccepted = true
    expectAcknowledgement()
  })
  client.on('close', () => {
    if (isAccepted && unacknowledged > 0) fruitless += 1
    isAccepted = false
    clearTimeout(overdue)
  })

  async function takePlace(): Promise<void> {
    while (unacknowledged >= Math.max(client.serverProperties?.receiveMaximum ?? 65_535, 1))
      await new Promise<void>((resolve) => waiting.push(resolve))
    unacknowledged += 1
    if (unacknowledged === 1) expectAcknowledgement()
  }

  function requireRoom(topic: string, payload: string, options: IClientPublishOptions): void {
    const most = client.serverProperties?.maximumPacketSize
    if (most === undefined) return
    const { retain = false, properties = {} } = options
    const { length } = generate(
      { cmd: 'publish', qos: 1, dup: false, messageId: 1, topic, payload, retain, properties },
      { protocolVersion: 5 },
    )
    if (length > most) throw new PacketTooLarge(`a message of ${length} bytes: the MQTT broker accepts ${most}`)
  }

  return {
    client,
    interrupt,
    async publish(topic, payload, options = {}) {
      requireRoom(topic, payload, options)
      await takePlace()
      // The client would keep the message for a connection that never comes.
      if (isClosed) throw new Error('the connection to the MQTT broker is closed')
      const acknowledged = client.publishAsync(topic, payload, { qos: 1, ...options }).then(() => {})
      const leave = (): void => {
        unacknowledged -= 1
        expectAcknowledgement()
        waiting.shift()?.()
      }
      acknowledged.then(leave, leave)
      return { acknowledged }
    },
    async close(isOrderly) {
      isClosed = true
      clearTimeout(overdue)
      const ended = client.endAsync(!isOrderly)
      for (const resume of waiting.splice(0)) resume()
      // The library waits for the end of the stream, also if the stream has ended already.
      if (!client.stream.closed) await ended
    },
  }
}

export function brokerLost(): Error {
  return new Error('the connection to the MQTT broker was lost')
}
