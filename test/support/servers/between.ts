/** A server between a client and Rollcall that can be shut. A test decides what it does to reports. It passes all other requests on. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'

export interface Between {
  readonly url: string
  /** Ends every connection there is, and refuses others while it is shut. */
  shut(): void
  open(): void
  close(): Promise<void>
}

const passedOn = ['content-type', 'content-encoding', 'accept', 'if-none-match', 'git-protocol']
const passedBack = ['content-type', 'etag', 'retry-after']

function some(names: readonly string[], read: (name: string) => string | null | undefined): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => [[name, read(name)]]).filter(([, value]) => value))
}

export interface Passing {
  readonly path: string
  readonly body: string
  /** Hands it to Rollcall, once each time; the answer's body. */
  pass(): Promise<{ status: number; body: string }>
  answer(status: number, body: string, headers?: Record<string, string>): void
  /** As if the network broke: no answer. */
  cut(): void
}

/** `meddle` answers each report in some way; what it leaves alone (false) is passed. */
export async function standBetween(
  url: string,
  meddle: (passing: Passing) => Promise<boolean> = async () => false,
): Promise<Between> {
  const target = new URL(url)
  const server = createServer((incoming, outgoing) => void take(incoming, outgoing).catch(() => outgoing.destroy()))

  async function take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const path = incoming.url ?? ''
    const passWhole = async (): Promise<{ response: Response; bytes: Buffer }> => {
      const response = await fetch(`${url}${path}`, {
        method: incoming.method ?? 'GET',
        headers: {
          'content-type': 'application/json',
          ...some(passedOn, (name) => incoming.headers[name]?.toString()),
        },
        ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
      })
      return { response, bytes: Buffer.from(await response.arrayBuffer()) }
    }
    const pass: Passing['pass'] = async () => {
      const { response, bytes } = await passWhole()
      return { status: response.status, body: bytes.toString() }
    }
    const answer: Passing['answer'] = (status, text, headers = {}) => {
      outgoing.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
    }
    const cut = (): void => void outgoing.destroy()
    const isMeant = path === '/reports' || path.endsWith('/status') || isOrchestrators(path) || isFetched(path)
    if (isMeant && (await meddle({ path, body, pass, answer, cut }))) return
    const { response, bytes } = await passWhole()
    const headers = some(passedBack, (name) => response.headers.get(name))
    outgoing.writeHead(response.status, { 'content-type': 'application/json', ...headers }).end(bytes)
  }

  const sockets = new Set<() => void>()
  let isShut = false
  server.on('connection', (socket) => {
    if (isShut) socket.destroy()
  })
  server.on('upgrade', (incoming, socket, head) => {
    const upstream = connect(Number(target.port), target.hostname, () => {
      const headers = incoming.rawHeaders.reduce(
        (text, part, index) => text + part + (index % 2 === 0 ? ': ' : '\r\n'),
        `${incoming.method} ${incoming.url} HTTP/1.1\r\n`,
      )
      upstream.write(`${headers}\r\n`)
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
    const cut = (): void => {
      sockets.delete(cut)
      socket.destroy()
      upstream.destroy()
    }
    sockets.add(cut)
    for (const end of [socket, upstream]) end.on('error', cut).on('close', cut)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    shut() {
      isShut = true
      server.closeAllConnections()
      for (const cut of sockets) cut()
    },
    open() {
      isShut = false
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
        for (const cut of sockets) cut()
      }),
  }
}

/** What a device should run: its manifest, or a document. */
function isFetched(path: string): boolean {
  return /^\/api\/v1\/clients\/[^/]+\/deployments(\/[^/]+\/sha256:[^/]+)?$/.test(path)
}

/** A fact on EMCO's routes. */
function isOrchestrators(path: string): boolean {
  return path.startsWith('/v2/') && /\/(actions|resources|connectivity|resource-bundle-states\/[^/]+)$/.test(path)
}
