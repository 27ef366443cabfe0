/**
 * What the attempts to watch a cluster say about it, in its connectivity and in the log:
 *
 *   the stream opens              ONLINE, unless several streams in a row opened and brought nothing
 *   an event, or a steady stream  ONLINE; failures are counted anew
 *   a stream breaks               nothing: the next attempt decides
 *   refused, or several streams   RETRYING, after further attempts OFFLINE; each cause is logged once
 *   in a row brought nothing
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connectivity } from '../../domain/target.ts'
import type { Log } from '../../platform/log/log.ts'
import type { ApiServerError } from './api-server-error.ts'

interface Reachability {
  /** A stream has opened. */
  opened(): Promise<void>
  /** An event has arrived. */
  proved(): Promise<void>
  failed(error: ApiServerError): Promise<void>
  /** An attempt begins. */
  begin(): void
  /** The last attempts in a row have brought nothing. */
  readonly isLost: boolean
  /** Whether the present attempt has brought an event or a steady stream. */
  readonly isProved: boolean
}

interface ReachabilityDeps {
  readonly cluster: string
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly record: (connectivity: Connectivity) => Promise<void>
  /** Milliseconds after which a stream without events counts as one that works. */
  readonly steady: number
  readonly signal: AbortSignal
}

/** Consecutive attempts that were refused, or streams that brought nothing, before the cluster is OFFLINE. */
const maxRefusals = 3

export function createReachability({ cluster, log, record, steady, signal }: ReachabilityDeps): Reachability {
  /** Consecutive attempts that were refused, and streams that opened and brought nothing. */
  let [refusals, fruitless] = [0, 0]
  let [wasOpened, isProved] = [false, false]
  let attempt = new AbortController()
  let connectivity: Connectivity | null = null
  let said: string | number | null = null

  const isLost = (): boolean => Math.max(refusals, fruitless) >= maxRefusals

  async function set(to: Connectivity): Promise<void> {
    // A repeated ONLINE is written as a sign of life. A repeated loss is not written.
    if (to === connectivity && to !== 'ONLINE') return
    signal.throwIfAborted()
    await record(to)
    if (to !== connectivity) log.info({ cluster, connectivity: to }, 'the connection to a cluster has changed')
    connectivity = to
  }

  async function prove(): Promise<void> {
    isProved = true
    refusals = fruitless = 0
    said = null
    if (connectivity !== 'ONLINE') await set('ONLINE')
  }

  return {
    begin() {
      attempt.abort()
      attempt = new AbortController()
      wasOpened = isProved = false
    },
    async opened() {
      wasOpened = true
      sleep(steady, undefined, { signal: AbortSignal.any([signal, attempt.signal]) })
        .then(prove)
        .catch(() => undefined)
      if (fruitless >= maxRefusals) return
      refusals = 0
      said = null
      await set('ONLINE')
    },
    proved: prove,
    async failed({ message, status }) {
      attempt.abort()
      if (!wasOpened) refusals += 1
      else if (!isProved) fruitless += 1
      if (wasOpened && fruitless < maxRefusals) {
        log.info({ cluster }, `the watch of a cluster was interrupted: ${message}`)
        return
      }
      // The server chooses the rest of the message: with another one each time it would fill the log.
      const cause = status ?? message
      if (cause !== said && said !== null) log.info({ cluster }, `a cluster still cannot be watched: ${message}`)
      else if (cause !== said)
        log.warn({ cluster, failures: Math.max(refusals, fruitless) }, `a cluster cannot be watched: ${message}`)
      said = cause
      // A replica that has just begun to watch does not know whether the cluster was ONLINE before.
      const to = isLost() ? 'OFFLINE' : connectivity === 'ONLINE' ? 'RETRYING' : null
      if (to) await set(to).catch(() => undefined)
    },
    get isLost() {
      return isLost()
    },
    get isProved() {
      return isProved
    },
  }
}
