/** Stands in front of a good system, and passes each request on, or answers it as a hostile one, as its mode says. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { buffer, text as textOf } from 'node:stream/consumers'
import type { Random } from '../attacker/random.ts'
import { badCertificates, type ShownCertificates } from './certificates.ts'
import { faultNames, faults } from './faults.ts'

/** `good`, the name of a fault or of a bad certificate, or `any` for another one each time. */
export type Mode = string

export interface Front {
  readonly url: string
  /** Requests that it has had. */
  readonly asked: number
  /** Bad certificates over which it has had one. */
  readonly accepted: readonly string[]
  /** What it can do. */
  readonly faults: readonly string[]
  set(mode: Mode): void
  /** Where good requests go. */
  lead(to: string): void
  stop(): Promise<void>
}

interface FrontOptions {
  readonly random: Random
  /** What it shows, for https. */
  readonly certificates?: ShownCertificates
}

export async function startFront({ random, certificates }: FrontOptions): Promise<Front> {
  let mode: Mode = 'good'
  let upstream = ''
  let asked = 0
  /** Of each connection, by the port of the client. */
  const shown = new Map<number, string>()
  const accepted = new Set<string>()
  const { good, ...bad } = certificates?.contexts ?? {}

  async function pass(request: IncomingMessage): Promise<IncomingMessage> {
    const { method = 'GET', url: path = '/', headers } = request
    const passed = send(`${upstream}${path}`, { method, headers, agent: false })
    passed.on('error', () => undefined).end(await buffer(request))
    const [answer] = (await once(passed, 'response')) as [IncomingMessage]
    return answer
  }

  /** The system knows its own address: a client of it has to know this one. */
  const renamed = (text: string): string => (upstream === '' ? text : text.replaceAll(upstream, url))

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    asked += 1
    const certificate = shown.get(request.socket.remotePort ?? 0) ?? 'good'
    if (certificate !== 'good') accepted.add(certificate)
    response.on('error', () => undefined)
    const name = mode === 'any' ? random.choose(faultNames) : mode
    const fault = faults[name]
    if (fault === undefined) return answerWell(request, response)
    const good = async () => {
      const answer = await pass(request)
      if (!isStream(request)) return { status: answer.statusCode ?? 500, text: renamed(await textOf(answer)) }
      answer.destroy()
      return { status: 200, text: '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}\n' }
    }
    if (!['other values', 'numbers that go back', 'half of an answer', 'late'].includes(name)) request.resume()
    await fault({ request, response, random, good })
  }

  async function answerWell(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await pass(request)
    const { 'content-length': _, connection: __, 'transfer-encoding': ___, ...headers } = answer.headers
    response.writeHead(answer.statusCode ?? 500, headers)
    if (!isStream(request)) {
      response.end(renamed(await textOf(answer)))
      return
    }
    response.flushHeaders()
    answer.on('error', () => response.destroy()).pipe(response)
    response.once('close', () => answer.destroy())
  }

  const handle = (request: IncomingMessage, response: ServerResponse): void =>
    void take(request, response).catch(() => response.destroy())
  const secure = certificates ? createSecureServer(handle) : null
  const server: Server = secure ?? createServer(handle)
  /** The context is that of the next handshake, which begins at once. */
  secure?.prependListener('connection', (socket: Socket) => {
    const name = mode === 'any' ? random.choose(['good', ...badCertificates]) : mode
    const context = bad[name]
    shown.set(socket.remotePort ?? 0, context ? name : 'good')
    secure.setSecureContext(context ?? good ?? {})
  })
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http${certificates ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url,
    get asked() {
      return asked
    },
    get accepted() {
      return [...accepted]
    },
    faults: certificates ? [...faultNames, ...badCertificates] : faultNames,
    set(next) {
      mode = next
      // Streams and answers without end began in the other mode.
      cut()
    },
    lead(to) {
      upstream = to
    },
    stop() {
      const closed = once(server, 'close')
      server.close()
      cut()
      return closed.then(() => undefined)
    },
  }
}

const isStream = ({ url = '' }: IncomingMessage): boolean => /[?&]watch=/.test(url)
