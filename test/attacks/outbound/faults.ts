/** What a hostile system does with a request: it is slow, endless, huge, malformed, redirecting, contradicting or half-closed, and has odd headers. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Random } from '../attacker/random.ts'
import { mutated, oddBody } from './bodies.ts'

export interface Meeting {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly random: Random
  /** What the good system answers. */
  readonly good: () => Promise<{ readonly status: number; readonly text: string }>
}

type Fault = (meeting: Meeting) => void | Promise<void>

const json = { 'content-type': 'application/json' }
const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20))
const retries = ['0', '-1', '1', '1e9', 'Fri, 31 Dec 1999 23:59:59 GMT', 'x', '0.0001']
const statuses = [204, 206, 304, 400, 401, 403, 404, 407, 409, 410, 412, 413, 418, 429, 500, 502, 503, 504, 599]

/** Writes it again and again, as fast as it is read. */
function repeat(response: Meeting['response'], text: string | Buffer): void {
  const { socket } = response
  const more = (): void => {
    while (socket && !socket.destroyed && socket.write(text));
  }
  socket?.on('drain', more)
  more()
}

/** Writes a piece now and then, until the client leaves. */
function drip({ response }: Meeting, piece: string, interval: number): void {
  response.writeHead(200, json)
  const timer = setInterval(() => response.write(piece), interval)
  response.once('close', () => clearInterval(timer))
}

const raw =
  (text: string): Fault =>
  ({ response }) =>
    void response.socket?.end(text)

export const faults: Readonly<Record<string, Fault>> = {
  status({ response, random }) {
    const headers = { ...json, 'retry-after': random.choose(retries), 'www-authenticate': 'x'.repeat(1_000) }
    response.writeHead(random.choose(statuses), headers).end(oddBody(random))
  },
  silence() {},
  drip: (meeting) => drip(meeting, ' ', 20),
  'pieces of a byte'({ response }) {
    response.writeHead(200, json)
    repeat(response, `1\r\n \r\n`.repeat(10_000))
  },
  'a body without end'({ response, random }) {
    response.writeHead(random.choose([200, 200, 500]), json)
    response.write('{"metadata":{"resourceVersion":"1"},"items":[')
    repeat(response, `10000\r\n${'{},'.repeat(21_845)}\n\r\n`)
  },
  'an odd body'({ response, random }) {
    response.writeHead(random.choose([200, 200, 200, 201, 500]), json).end(oddBody(random))
  },
  async 'other values'({ response, random, good }) {
    const { status, text } = await good()
    response.writeHead(status, json).end(mutated(text, random))
  },
  async 'numbers that go back'({ response, good }) {
    const { status, text } = await good()
    response.writeHead(status, json).end(text.replaceAll(/\b\d+\b/g, '0'))
  },
  async 'half of an answer'({ response, random, good }) {
    const { status, text } = await good()
    response.writeHead(status, { ...json, 'content-length': Buffer.byteLength(text) + 1 })
    response.write(text.slice(0, random.below(text.length + 1)))
    setTimeout(() => (random.chance(50) ? response.destroy() : response.socket?.end()), 20)
  },
  redirect({ request, response, random }) {
    const location = random.choose([request.url ?? '/', 'http://127.0.0.1:1/', 'file:///etc/passwd', '//x', ''])
    response.writeHead(random.choose([301, 302, 303, 307, 308]), { location }).end()
  },
  'another protocol': raw('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  'interim responses': ({ response }) => repeat(response, 'HTTP/1.1 103 X\r\nLink: <x>\r\n\r\n'.repeat(100)),
  compressed({ response }) {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb)
  },
  'long headers': raw(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(2 ** 20)}\r\n\r\n{}`),
  'many headers': raw(`HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(2_500)}Content-Length: 2\r\n\r\n{}`),
  'two lengths': raw('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}'),
  'a negative length': raw('HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}'),
  'two answers': raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'),
  'a long reason': raw(`HTTP/1.1 500 ${'\u202e'.repeat(1_000)}\r\nContent-Length: 0\r\n\r\n`),
  'no HTTP'({ response }) {
    response.socket?.end(randomBytes(10_000))
  },
  'an end without an answer': ({ response }) => void response.socket?.end(),
  reset: ({ response }) => void response.socket?.resetAndDestroy(),
  async late({ response, random, good }) {
    const { status, text } = await good()
    setTimeout(() => response.writeHead(status, json).end(text), random.below(3_000))
  },
}

export const faultNames = Object.keys(faults)
