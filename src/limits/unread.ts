/**
 * Bytes that are sent to clients and not read by them: HTTP responses, and frames of WebSockets. Above the budget, of all clients or of one
 * address, the client that has made no progress for the longest time is cut off, so those who read receive theirs.
 */
import { shareOfOne } from './held-bytes.ts'
import type { Refuse } from './limits.ts'

/** The unread bytes of one response or WebSocket. */
export interface Unread {
  /** Sets the bytes of one object. Clients that hold the same object hold its bytes together: a cached response, a page, a frame. */
  hold(object: object, bytes: number): void
  /** The client has read the object. */
  release(object: object): void
  releaseAll(): void
}

/** `cut` ends the connection. */
export type TrackUnread = (network: string, cut: () => void) => Unread

interface Client {
  readonly network: string
  readonly cut: () => void
  readonly objects: Set<object>
}

/** An object is in memory once. It counts for the address of the first client. */
interface Held {
  readonly clients: Set<Client>
  bytes: number
}

/** `total`: bytes. */
export function createTrackUnread(total: number, refuse: Refuse): TrackUnread {
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
    client.objects.add(object)
    waiting.add(client)
    cutOthers(client)
  }

  function letGo(client: Client, object: object): void {
    const held = all.get(object)
    if (!held?.clients.has(client)) return
    count(held, -1)
    held.clients.delete(client)
    count(held, 1)
    if (held.clients.size === 0) all.delete(object)
    client.objects.delete(object)
  }

  function letGoAll(client: Client): void {
    for (const object of client.objects) letGo(client, object)
    waiting.delete(client)
  }

  /** What a single client holds is sent, however large it is: most clients read. */
  function cutOthers(client: Client): void {
    for (const oldest of waiting) {
      const isNetworkFull = (ofNetwork.get(client.network) ?? 0) > total * shareOfOne
      if ((!isNetworkFull && ofAll <= total) || oldest === client) return
      if (isNetworkFull && oldest.network !== client.network) continue
      refuse('unread', 'the connection was closed')
      letGoAll(oldest)
      oldest.cut()
    }
  }

  return (network, cut) => {
    const client: Client = { network, cut, objects: new Set() }
    return {
      hold: (object, bytes) => hold(client, object, bytes),
      release(object) {
        letGo(client, object)
        waiting.delete(client)
        if (client.objects.size > 0) waiting.add(client)
      },
      releaseAll: () => letGoAll(client),
    }
  }
}
