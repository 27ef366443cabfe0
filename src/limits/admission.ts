/** Who comes in, and how often: one gate for every route and transport. A bystander has a bucket and a count of his own. */
import type { DomainError } from '../domain/errors.ts'
import type { Principal } from '../domain/principal.ts'
import { type Addresses, createAddresses, type Hop } from './address.ts'
import { type Bodies, createBodies } from './bodies.ts'
import { type CallerSemaphore, createCallerSemaphore } from './caller-semaphore.ts'
import { createHeldBytes } from './held-bytes.ts'
import { createRefuse, defaultLimits, type LimitsConfig, type ObserveRefusal, type Refuse } from './limits.ts'
import { createTrackMessages, type UnfinishedMessage } from './messages.ts'
import { createRate } from './rate.ts'
import { createStreams } from './streams.ts'

export interface Admission {
  readonly refuse: Refuse
  readonly addresses: Addresses
  readonly bodies: Bodies
  /** Counts the bytes of unfinished messages of a WebSocket. `cut`: there is no room, or a message takes too long. */
  readonly trackMessages: (request: Hop, cut: (reason: 'full' | 'slow') => void) => UnfinishedMessage
  /** A request, or an operation on a socket. Throws TOO_MANY. */
  admit(request: Hop): void
  /** A request of a device that is known to be itself. Throws TOO_MANY. */
  admitDevice(deviceId: string): void
  /** A socket or an event stream of this caller. Throws TOO_MANY; otherwise to be called when it is over. */
  openStream(caller: string): () => void
  /** Waits until the caller has room for one more thing that reads the database; to be called when that is over. */
  enter: CallerSemaphore['enter']
  /** Who holds what is counted: whoever showed a credential, else the address. */
  callerOf(principal: Pick<Principal, 'name' | 'credential'>, request: Hop | undefined): string
}

export const bodyTimeout = 10_000

/** Snapshots of one caller at once; there are eight connections to read by. */
const mostSnapshots = 6

export interface AdmissionOptions {
  readonly limits?: (Pick<LimitsConfig, 'rates' | 'streams'> & Partial<Pick<LimitsConfig, 'buffered'>>) | undefined
  /** Milliseconds in which a large body must go on. */
  readonly bodyTimeout?: number | undefined
  /** Addresses and ranges of proxies that say where a request comes from. */
  readonly proxies?: readonly string[] | undefined
  readonly observe?: ObserveRefusal | undefined
  /** Rates are of this process: any clock that goes forward. */
  readonly clock?: (() => number) | undefined
}

export function createAdmission({
  limits = defaultLimits,
  bodyTimeout: timeout = bodyTimeout,
  proxies = [],
  observe,
  clock = () => performance.now(),
}: AdmissionOptions = {}): Admission {
  const refuse = createRefuse(observe)
  const addresses = createAddresses(proxies)
  const { device, address } = limits.rates
  const rates = { device: createRate(device, clock), address: createRate(address, clock) }
  const held = createHeldBytes(limits.buffered ?? defaultLimits.buffered, refuse)
  const trackMessages = createTrackMessages(held, refuse, timeout)
  const streams = createStreams(limits.streams)
  const lanes = createCallerSemaphore(mostSnapshots)

  function tooFast(limit: 'requestsPerAddress' | 'requestsPerDevice', most: number | null, wait: number): DomainError {
    const retryAfterSeconds = Math.ceil(wait / 1_000)
    const whose = limit === 'requestsPerDevice' ? 'this device' : 'this address'
    return refuse(limit, `${whose} sends more than ${most} requests a second: come again in ${retryAfterSeconds} s`, {
      max: most,
      retryAfterSeconds,
    })
  }

  return {
    refuse,
    addresses,
    bodies: createBodies(held, timeout, refuse, addresses.networkOf),
    trackMessages: (request, cut) => trackMessages(addresses.networkOf(request), cut),
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
      throw refuse('streams', `there are ${most} sockets and event streams open already: close one, or share one`, {
        max: most,
      })
    },
  }
}

/** Seconds after which to come again, at random between once and four times as long: so that a fleet does not come back at once. */
export function retryAfter({ retryAfterSeconds }: DomainError['facts'], otherwise = 5): number {
  const seconds = typeof retryAfterSeconds === 'number' ? retryAfterSeconds : otherwise
  return Math.round(seconds * (1 + Math.random() * 3))
}
