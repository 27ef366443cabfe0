/** A WebSocket client on a raw socket: frames are cut out of the stream, and their text is handed on as it came. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'

export interface RawSocket {
  send(text: string): void
  close(): void
  /** Closes with a reset instead of an end. */
  reset(): void
  /** Reads nothing more, and so answers no ping: a client that has died without a word. */
  stall(): void
  readonly closed: Promise<void>
}

const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const

/** Resolves when the handshake is done. `hear` is called with each text; the bytes are only good during the call. */
export function openWebSocket(
  port: number,
  path: string,
  protocol: string | null,
  hear: (text: Buffer) => void,
): Promise<RawSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const headers = [
      `GET ${path} HTTP/1.1`,
      'Host: bench',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      ...(protocol ? [`Sec-WebSocket-Protocol: ${protocol}`] : []),
    ]
    let isOpen = false
    let pending: Buffer = Buffer.alloc(0)
    const { promise: closed, resolve: closing } = Promise.withResolvers<void>()
    const client: RawSocket = {
      send: (text) => void socket.write(frame(opcodes.text, Buffer.from(text))),
      close: () => void socket.destroy(),
      reset: () => void socket.resetAndDestroy(),
      stall: () => void socket.pause(),
      closed,
    }
    socket.once('connect', () => socket.write(`${headers.join('\r\n')}\r\n\r\n`))
    socket.on('error', reject)
    socket.on('close', () => {
      closing()
      reject(new Error('the server refused a WebSocket'))
    })
    socket.on('data', (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      if (!isOpen) {
        const end = pending.indexOf('\r\n\r\n')
        if (end < 0) return
        if (!pending.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) return void socket.destroy()
        isOpen = true
        pending = pending.subarray(end + 4)
        resolve(client)
      }
      pending = readFrames(pending, (opcode, payload) => {
        if (opcode === opcodes.text) hear(payload)
        else if (opcode === opcodes.ping) socket.write(frame(opcodes.pong, payload))
        else if (opcode === opcodes.close) socket.destroy()
      })
    })
  })
}

/** Returns what is left over. A server's frames are not masked, and ours are never split. */
function readFrames(bytes: Buffer, take: (opcode: number, payload: Buffer) => void): Buffer {
  let at = 0
  while (bytes.length - at >= 2) {
    const opcode = (bytes[at] ?? 0) & 15
    let length = (bytes[at + 1] ?? 0) & 127
    let start = at + 2
    if (length === 126) {
      if (bytes.length < at + 4) break
      length = bytes.readUInt16BE(at + 2)
      start = at + 4
    } else if (length === 127) {
      if (bytes.length < at + 10) break
      length = Number(bytes.readBigUInt64BE(at + 2))
      start = at + 10
    }
    if (bytes.length < start + length) break
    take(opcode, bytes.subarray(start, start + length))
    at = start + length
  }
  return bytes.subarray(at)
}

/** A client must mask; a mask of zeros leaves the text as it is. */
function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const head =
    length < 126
      ? Buffer.from([128 | opcode, 128 | length])
      : Buffer.from([128 | opcode, 254, length >> 8, length & 255])
  if (length > 65_535) throw new Error('a client has no such long messages')
  return Buffer.concat([head, Buffer.alloc(4), payload])
}
