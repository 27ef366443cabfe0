/** One keep-alive connection on a raw socket: requests are bytes that were built before, answers are parsed no further than needed. */
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface HttpConnection {
  /** One at a time. Rejects when the connection ends. */
  send(request: Buffer): Promise<Answer>
  close(): void
}

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

const headEnd = Buffer.from('\r\n\r\n')

export function buildRequest(method: 'GET' | 'POST', path: string, body = '', headers: readonly string[] = []): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: bench', ...headers]
  if (method === 'POST') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** `isTls`: with a handshake of its own; the certificate is not verified. */
export async function openConnection(port: number, isTls = false): Promise<HttpConnection> {
  const socket = await open(port, isTls)
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null
  let pending: Buffer | null = null

  socket.on('data', (chunk: Buffer) => {
    pending = pending ? Buffer.concat([pending, chunk]) : chunk
    const answer = parseAnswer(pending)
    if (!answer) return
    pending = null
    const { resolve } = waiting ?? {}
    waiting = null
    resolve?.(answer)
  })
  const end = (): void => {
    const { reject } = waiting ?? {}
    waiting = null
    reject?.(new Error('the server closed a connection in the middle of a request'))
  }
  socket.on('error', end)
  socket.on('close', end)

  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the server has closed this connection'))
        waiting = { resolve, reject }
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}

/** Opens a connection for each request, which closes with its answer. */
export function openForEach(port: number, isTls: boolean): HttpConnection {
  return {
    async send(request) {
      const connection = await openConnection(port, isTls)
      try {
        return await connection.send(request)
      } finally {
        connection.close()
      }
    },
    close: () => undefined,
  }
}

/** Of several ports each gets its share, in turn. */
export function openConnections(ports: number | readonly number[], count: number): Promise<HttpConnection[]> {
  const list = [ports].flat()
  return Promise.all(Array.from({ length: count }, (_, index) => openConnection(list[index % list.length] ?? 0)))
}

function open(port: number, isTls: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const to = { port, host: '127.0.0.1', noDelay: true }
    const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/** Null while it is not whole. */
function parseAnswer(bytes: Buffer): Answer | null {
  const end = bytes.indexOf(headEnd)
  if (end < 0) return null
  const head = bytes.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  const start = end + headEnd.length
  if (length !== undefined)
    return bytes.length < start + Number(length)
      ? null
      : { status, body: bytes.subarray(start, start + Number(length)) }
  return /\r\ntransfer-encoding: chunked/i.test(head)
    ? parseChunks(status, bytes, start)
    : { status, body: bytes.subarray(start) }
}

function parseChunks(status: number, bytes: Buffer, start: number): Answer | null {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return null
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const next = line + 2 + size + 2
    if (bytes.length < next) return null
    if (size === 0) return { status, body: Buffer.concat(parts) }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = next
  }
}
