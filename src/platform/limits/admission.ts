/** Rate and stream limits, the same for every route and transport. Each address, device and caller has its own counts, so one cannot exhaust another's. */
import type { ServerResponse } from 'node:http'
import type { DomainError } from '../../domain/errors.ts'
import type { Principal } from '../../domain/principal.ts'
import { type Addresses, createAddresses, type Hop } from './address.ts'
import { type Bodies, createBodies } from './bodies.ts'
import { type CallerSemaphore, createCallerSemaphore } from './caller-semaphore.ts'
import { createCountedResponse } from './counted-response.ts'
import { createHeldBytes } from './held-bytes.ts'
import { createRefuse, defaultLimits, type LimitsConfig, type ObserveRefusal, type Refuse } from './limits.ts'
import { createTrackMessages, type UnfinishedMessage } from './messages.ts'
import { createRate } from './rate.ts'
import { createStreams } from './streams.ts'
import { createTrackUnread, type Unread } from './unread.ts'

export interface Admission {
  readonly refuse: Refuse
  readonly addresses: Addresses
  readonly bodies: Bodies
  /** Counts the bytes of unfinished messages of a WebSocket. It calls `cut` when the budget is exceeded or a message takes too long. */
  readonly trackMessages: (request: Hop, cut: (reason: 'full' | 'slow') => void) => UnfinishedMessage
  /** The class of all servers' responses. It counts the bytes that clients have not read. */
  readonly Response: typeof ServerResponse
  /** Counts the bytes that the client of a WebSocket has not read. It calls `cut` when the budget is exceeded or the client reads too slowly. */
  readonly trackUnread: (request: Hop, cut: () => void) => Unread
  /** Counts a request, or an operation on a socket. Throws TOO_MANY. */
  admit(request: Hop): void
  /** Counts a request of an identified device. Throws TOO_MANY. */
  admitDevice(deviceId: string): void
  /** Counts a socket or an event stream of this caller. Throws TOO_MANY. Call the result when the stream ends. */
  openStream(caller: string): () => void
  /** Waits until the caller may start one more database read. Call the result when the read ends. */
  enter: CallerSemaphore['enter']
  /** The key that streams and reads are counted by: the name of the credential, or the address without a credential. */
  callerOf(principal: Pick<Principal, 'name' | 'credential'>, request: Hop | undefined): string
}

export const bodyTimeout = 10_000
export const readingTimeout = 60_000

/** Concurrent snapshots of one caller. The pool has eight connections for reads. */
const mostSnapshots = 6

interface AdmissionOptions {
  readonly limits?: (Pick<LimitsConfig, 'rates' | 'streams'> & Partial<Pick<LimitsConfig, 'buffered'>>) | undefined
  /** Milliseconds in which a large body must make progress. */
  readonly bodyTimeout?: number | undefined
  /** Milliseconds in which each MiB of a response, or of messages of a WebSocket, must be read. */
  readonly readingTimeout?: number | undefined
  /** Addresses and ranges of trusted proxies. */
  readonly proxies?: readonly string[] | undefined
  readonly observe?: ObserveRefusal | undefined
  /** A monotonic clock. Rates are counted in this process only. */
  readonly clock?: (() => number) | undefined
}

export function createAdmission({
  limits = defaultLimits,
  bodyTimeout: timeout = bodyTimeout,
  readingTimeout: readingTime = readingTimeout,
  proxies = [],
  observe,
  clock = () => performance.now(),
}: AdmissionOptions = {}): Admission {
  const refuse = createRefuse(observe)
  const addresses = createAddresses(proxies)
  const { device, address } = limits.rates
  const rates = { device: createRate(device, clock), address: createRate(address, clock) }
  const buffered = limits.buffered ?? defaultLimits.buffered
  const held = createHeldBytes(buffered, refuse)
  const trackMessages = createTrackMessages(held, refuse, timeout)
  const trackUnread = createTrackUnread(buffered, readingTime, refuse)
  const streams = createStreams(limits.streams)
  const bodies = createBodies(held, timeout, refuse, addresses.networkOf)
  const lanes = createCallerSemaphore(mostSnapshots)

  function tooFast(limit: 'requestsPerAddress' | 'requestsPerDevice', most: number | null, wait: number): DomainError {
    const retryAfterSeconds = Math.ceil(wait / 1_000)
    const sender = limit === 'requestsPerDevice' ? 'this device' : 'this address'
    return refuse(limit, `${sender} sends more than ${most} requests a second: retry in ${retryAfterSeconds} s`, {
      max: most,
      retryAfterSeconds,
    })
  }

  return {
    refuse,
    addresses,
    bodies,
    Response: createCountedResponse(trackUnread, bodies.drop, addresses.networkOf),
    trackMessages: (request, cut) => trackMessages(addresses.networkOf(request), cut),
    trackUnread: (request, cut) => trackUnread(addresses.networkOf(request), cut),
    admit(request) {
      const wait = rates.address.take(addresses.networkOf(request))
      if (wait > 0) throw tooFast('requestsPerAddress', address, wait)
    },
    admitDevice(deviceId) {
      const wait = rates.device.take(deviceId)
      if (wait > 0) throw tooFast('requestsPerDevice', device, wait)
    },
    enter: lanes.enter,
    callerOf: ({ name, credential }, request) =>
      credential.kind !== 'none' ? `caller ${name}` : `address ${request ? addresses.networkOf(request) : ''}`,
    openStream(caller) {
      const close = streams.open(caller)
      if (close) return close
      const most = limits.streams
      throw refuse('streams', `${most} sockets and event streams are already open: close one, or share one`, {
        max: most,
      })
    },
  }
}

/** Seconds until the client should retry: one to four times the minimum, at random. Without the spread, a fleet would retry at the same moment. */
export function retryAfter({ retryAfterSeconds }: DomainError['facts'], otherwise = 5): number {
  const seconds = typeof retryAfterSeconds === 'number' ? retryAfterSeconds : otherwise
  return Math.round(seconds * (1 + Math.random() * 3))
}
