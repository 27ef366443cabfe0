/**
 * The subscription of a session, made at each connection. A broker whose topic rules do not allow it refuses it and keeps the connection.
 * It may allow it later, when its rules were changed and loaded again: so a refused subscription is tried again, at growing intervals.
 *
 *   connected ─▶ pending ─▶ made
 *                   ▲   └─▶ refused ─ pause ─┐
 *                   └────────────────────────┘
 */
import type { Log } from '../../platform/log/log.ts'
import type { Connection } from './connection.ts'

export type SubscriptionState = 'pending' | 'made' | 'refused'

interface Subscription {
  /** `pending` also while there is no connection. */
  state(): SubscriptionState
  close(): void
}

interface SubscriptionOptions {
  readonly connection: Pick<Connection, 'client' | 'interrupt'>
  readonly filters: readonly string[]
  readonly session: number
  readonly log: Pick<Log, 'info' | 'error'>
  /** The broker refused it. */
  readonly refused: () => void
  /** Milliseconds before a refused subscription is tried again. They double, up to sixty times as many. */
  readonly pause?: number
  /** Milliseconds that the broker may take to answer. */
  readonly patience?: number
}

export function keepSubscription(options: SubscriptionOptions): Subscription {
  const { connection, filters, session, log, refused, pause = 1_000, patience = 30_000 } = options
  const { client, interrupt } = connection
  let state: SubscriptionState = 'pending'
  let refusals = 0
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function subscribe(): void {
    if (isClosed) return
    const { stream } = client
    timer = setTimeout(() => interrupt('the MQTT broker does not answer a subscription: connecting again'), patience)
    client.subscribe([...filters], { qos: 1 }, (error) => {
      // The answer belongs to the connection that asked. The library also calls back when that connection ends.
      if (isClosed || client.stream !== stream || !client.connected) return
      clearTimeout(timer)
      if (error === null) made()
      else refuse(error)
    })
  }

  function made(): void {
    state = 'made'
    refusals = 0
    log.info({ session }, 'reports are received by MQTT')
  }

  function refuse(error: Error): void {
    state = 'refused'
    refused()
    // One line for each time that it begins to be refused.
    if (refusals === 0) log.error({ session, error }, 'the MQTT broker refused the subscription: trying again')
    timer = setTimeout(subscribe, pause * Math.min(2 ** refusals, 60))
    refusals += 1
  }

  client.on('connect', subscribe)
  client.on('close', () => {
    state = 'pending'
    clearTimeout(timer)
  })
  return {
    state: () => state,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
