/**
 * Bytes of WebSocket messages that have not ended. A client may send all of a message but its last byte, on thousands of sockets. So these bytes
 * count in the same budget as bodies, and a message must end in time.
 */
import { type HeldBytes, uncounted } from './held-bytes.ts'
import type { Refuse } from './limits.ts'

/** What one socket holds. Each chunk is reported after the messages that end in it. */
export interface UnfinishedMessage {
  /** A message of so many bytes has ended. */
  ended(bytes: number): void
  /** So many bytes have arrived, headers of frames included. */
  arrived(bytes: number): void
  close(): void
}

export type TrackMessages = (network: string, cut: (reason: 'full' | 'slow') => void) => UnfinishedMessage

/** Bytes of the smallest frame header of a client. */
const frameHeader = 6

/** `timeout`: milliseconds in which a message that counts must end. */
export function createTrackMessages(held: HeldBytes, refuse: Refuse, timeout: number): TrackMessages {
  return (network, cut) => {
    let [pending, counted, hasEnded, isOver] = [0, 0, false, false]
    let timer: NodeJS.Timeout | undefined

    function count(bytes: number): void {
      if (bytes > counted) held.hold(network, bytes - counted)
      else if (bytes < counted) held.release(network, counted - bytes)
      counted = bytes
    }

    function close(): void {
      isOver = true
      clearTimeout(timer)
      count(0)
    }

    function expire(): void {
      refuse('slowRequest', 'the socket was closed')
      cut('slow')
    }

    return {
      ended(bytes) {
        pending -= bytes + frameHeader
        hasEnded = true
      },
      arrived(bytes) {
        if (isOver) return
        pending = Math.max(0, pending + bytes)
        // The rest of this chunk is all that can be unfinished. Long frame headers would add up otherwise.
        if (hasEnded) pending = Math.min(pending, bytes)
        if (hasEnded || pending <= uncounted) {
          clearTimeout(timer)
          timer = undefined
        }
        hasEnded = false
        if (pending > uncounted) timer ??= setTimeout(expire, timeout).unref()
        try {
          count(Math.max(0, pending - uncounted))
        } catch {
          cut('full')
        }
      },
      close,
    }
  }
}
