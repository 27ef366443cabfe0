/**
 * Bytes that are sent to clients and not read by them: HTTP responses, and frames of WebSockets. Above the budget, of all clients or of one
 * address, the client that has made no progress for the longest time is cut off, so that the others receive theirs. So is a client that makes no
 * progress in the reading time of its bytes: one that answers pings is not idle.
 */
import { shareOfOne } from './held-bytes.ts'
import type { Refuse } from './limits.ts'

/** The unread bytes of one response or WebSocket. */
export interface Unread {
  /** Sets the bytes of one object. Clients that hold the same object hold its bytes together: a cached response, a page, a frame. */
  hold(object: object, bytes: number): void
  /** The reading time begins, for these bytes and all that follow. */
  limitTime(): void
  /** The client has read the object. */
  release(object: object): void
  releaseAll(): void
}

/** `cut` ends the connection. */
export type TrackUnread = (network: string, cut: () => void) => Unread

interface Client {
  readonly network: string
  readonly cut: () => void
  /** With the bytes of each. */
  readonly objects: Map<object, number>
  bytes: number
  /** Whether it has a reading time. */
  isLimited: boolean
  /** When it last made progress, or began to hold bytes. */
  since: number
  late: NodeJS.Timeout | undefined
}

/** An object is in memory once. It counts for the address of the first client. */
interface Held {
  readonly clients: Set<Client>
  bytes: number
}

/** Bytes for which a client has the reading time. */
const pacedBytes = 1 << 20

/** `total`: bytes. `readingTime`: milliseconds. */
export function createTrackUnread(total: number, readingTime: number, refuse: Refuse): TrackUnread {
  /** The first has made no progress for the longest time. */
  const waiting = new Set<Client>()
  const all = new Map<object, Held>()
  const ofNetwork = new Map<string, number>()
  let ofAll = 0

  function count({ clients, bytes }: Held, sign: 1 | -1): void {
    const [first] = clients
    if (!first) return
    ofAll += sign * bytes
    const own = (ofNetwork.get(first.network) ?? 0) + sign * bytes
    if (own > 0) ofNetwork.set(first.network, own)
    else ofNetwork.delete(first.network)
  }

  function hold(client: Client, object: object, bytes: number): void {
    const held: Held = all.get(object) ?? { clients: new Set(), bytes }
    count(held, -1)
    held.clients.add(client)
    held.bytes = bytes
    count(held, 1)
    all.set(object, held)
    if (client.objects.size === 0) client.since = performance.now()
    client.bytes += bytes - (client.objects.get(object) ?? 0)
    client.objects.set(object, bytes)
    waiting.add(client)
    limitTime(client)
    cutOthers(client)
  }

  function letGo(client: Client, object: object): void {
    const held = all.get(object)
    if (!held?.clients.has(client)) return
    count(held, -1)
    held.clients.delete(client)
    count(held, 1)
    if (held.clients.size === 0) all.delete(object)
    client.bytes -= client.objects.get(object) ?? 0
    client.objects.delete(object)
  }

  function letGoAll(client: Client): void {
    for (const object of client.objects.keys()) letGo(client, object)
    waiting.delete(client)
    limitTime(client)
  }

  /** More bytes give more time, but do not begin it anew. */
  function limitTime(client: Client): void {
    clearTimeout(client.late)
    if (!client.isLimited || client.objects.size === 0) return
    const time = readingTime * Math.max(Math.ceil(client.bytes / pacedBytes), 1)
    client.late = setTimeout(cutOff, client.since + time - performance.now(), client).unref()
  }

  function cutOff(client: Client): void {
    refuse('unread', 'the connection was closed')
    letGoAll(client)
    client.cut()
  }

  /** What a single client holds is sent, however large it is: most clients read. */
  function cutOthers(client: Client): void {
    for (const oldest of waiting) {
      const isNetworkFull = (ofNetwork.get(client.network) ?? 0) > total * shareOfOne
      if ((!isNetworkFull && ofAll <= total) || oldest === client) return
      if (isNetworkFull && oldest.network !== client.network) continue
      cutOff(oldest)
    }
  }

  function progress(client: Client): void {
    waiting.delete(client)
    if (client.objects.size > 0) waiting.add(client)
    client.since = performance.now()
    limitTime(client)
  }

  return (network, cut) => {
    const client: Client = { network, cut, objects: new Map(), bytes: 0, isLimited: false, since: 0, late: undefined }
    return {
      hold: (object, bytes) => hold(client, object, bytes),
      limitTime() {
        client.isLimited = true
        client.since = performance.now()
        limitTime(client)
      },
      release(object) {
        letGo(client, object)
        progress(client)
      },
      releaseAll: () => letGoAll(client),
    }
  }
}
