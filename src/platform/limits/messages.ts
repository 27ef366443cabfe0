/**
 * Bytes of WebSocket messages that have not ended. A client may send all of a message but its last byte, on thousands of sockets. So these bytes
 * count in the same budget as bodies, and a message must end in time.
 */
import { type HeldBytes, uncounted } from './held-bytes.ts'
import type { Refuse } from './limits.ts'

/** The unfinished bytes of one socket. Report the messages that end in a chunk before the chunk itself. */
export interface UnfinishedMessage {
  /** A message of this many bytes has ended. */
  ended(bytes: number): void
  /** This many bytes have arrived, including frame headers. */
  arrived(bytes: number): void
  close(): void
}

type TrackMessages = (network: string, cut: (reason: 'full' | 'slow') => void) => UnfinishedMessage

/** Bytes of the smallest frame header that a client can send. */
const frameHeader = 6

/** `timeout`: milliseconds in which a counted message must end. */
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
        // Only the rest of this chunk can be unfinished. Without this bound, long frame headers would accumulate.
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
