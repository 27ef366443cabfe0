/** WebSocket frames and how they are written to a socket. */
import type { Duplex } from 'node:stream'

/**
 * A text message as one unmasked WebSocket frame (RFC 6455, section 5.2). Built once for all subscribers: ws would
 * build a header per socket and write two buffers.
 */
export function frameOf(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(head + length)
  frame[0] = 0x81
  if (head === 2) frame[1] = length
  else if (head === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.write(text, head)
  return frame
}

/** Combines the writes to a socket in one turn: one commit may notify hundreds of its subscriptions. */
export function createCork(): (stream: Duplex) => void {
  let corked: Duplex[] = []

  function uncork(): void {
    const streams = corked
    corked = []
    for (const stream of streams) stream.uncork()
  }

  return (stream) => {
    if (stream.writableCorked > 0) return
    stream.cork()
    if (corked.push(stream) === 1) setImmediate(uncork)
  }
}
