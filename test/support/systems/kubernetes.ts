/** A cluster's API server that has ResourceBundleStates: it lists and watches them as Kubernetes does, and misbehaves when a test asks for it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './emco.ts'

export interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  readonly authorization: string | undefined
  readonly isWatch: boolean
  /** Milliseconds. */
  readonly at: number
}

export interface Kubernetes {
  /** A file with one context, "edge". */
  readonly kubeconfig: string
  readonly asked: readonly Asked[]
  /** Streams that are open. */
  readonly watching: number
  /** Of the newest object. */
  readonly version: number
  /** Creates or changes the custom resource of that name; its label is `<context>-<app>`. */
  put(name: string, label: string, status: object, more?: object): void
  remove(name: string): void
  bookmark(): void
  /** Whatever is given, on every stream. */
  send(text: string): void
  /** Ends every stream as the server does when its time is over. */
  end(): void
  /** Ends every connection as a broken network does. */
  drop(): void
  /** Everything until now is too old to go on from. `told` in a stream, or as the answer's status. */
  compact(told: 'stream' | 'status'): void
  /** Everything is as it was at that version, as after etcd was restored from a copy. Streams stay, and are empty until they reach their version. */
  restore(to: number): void
  /** A list that has begun cannot be continued, so often. */
  expirePages(times: number): void
  /** From now on every request is answered with this, and with a message of its own. */
  refuse(status: number, headers?: Record<string, string>, message?: () => string): void
  /** From now on every stream is this text, and ends. Null: as before. */
  garble(text: string | null): void
  /** Lists have these items too. */
  addItems(items: readonly unknown[]): void
  /** From now on no request is answered at all. */
  fallSilent(): void
  accept(): void
  /** Events arrive in pieces of so many bytes, each in a packet of its own. */
  cutInto(bytes: number | null): void
}

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' own shapes.
type Json = any

export async function startKubernetes(closing: (close: () => Promise<void>) => void): Promise<Kubernetes> {
  const objects = new Map<string, Json>()
  const history: { version: number; line: string }[] = []
  const streams = new Set<ServerResponse>()
  const pending = new Map<ServerResponse, string>()
  const sockets = new Set<Socket>()
  const asked: Asked[] = []
  let version = 100
  let oldest = 0
  let expired: 'stream' | 'status' = 'stream'
  let expiring = 0
  let piece: number | null = null
  let how: 'accept' | 'silent' | { status: number; headers: Record<string, string>; message?: () => string } = 'accept'
  let garbled: string | null = null
  let added: readonly unknown[] = []

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    const isWatch = ['1', 'true'].includes(url.searchParams.get('watch') ?? '')
    const { authorization } = request.headers
    asked.push({ path: url.pathname, query: url.searchParams, authorization, isWatch, at: performance.now() })
    answer(request, response, url.searchParams, isWatch)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.setNoDelay()
    socket.on('close', () => sockets.delete(socket))
  })

  function answer(_: IncomingMessage, response: ServerResponse, query: URLSearchParams, isWatch: boolean): void {
    if (how === 'silent') return
    if (how !== 'accept') {
      response.writeHead(how.status, how.headers)
      response.end(JSON.stringify({ ...status(how.status, 'Refused'), ...(how.message && { message: how.message() }) }))
    } else if (isWatch) watch(response, Number(query.get('resourceVersion')))
    else list(response, query)
  }

  function list(response: ServerResponse, query: URLSearchParams): void {
    const [at, start = 0] = query.get('continue')?.split(':').map(Number) ?? [version]
    if (start > 0 && expiring > 0) {
      expiring -= 1
      say(response, 410, status(410, 'Expired'))
      return
    }
    const limit = Number(query.get('limit') ?? 0) || objects.size + added.length
    const all = [...added, ...objects.values()]
    const items = all.slice(start, start + limit)
    const more = start + limit < all.length ? `${at}:${start + limit}` : ''
    const metadata = { resourceVersion: String(at), ...(more && { continue: more }) }
    say(response, 200, { kind: 'ResourceBundleStateList', apiVersion: 'k8splugin.io/v1alpha1', metadata, items })
  }

  function watch(response: ServerResponse, from: number): void {
    if (from < oldest && expired === 'status') {
      say(response, 410, status(410, 'Expired'))
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (garbled !== null) {
      response.end(garbled)
      return
    }
    if (from < oldest) {
      response.end(event('ERROR', status(410, 'Expired')))
      return
    }
    streams.add(response)
    response.on('close', () => streams.delete(response))
    for (const { version: at, line } of history) if (at > from) write(response, line)
  }

  function write(response: ServerResponse, text: string): void {
    if (piece === null) {
      response.write(text)
      return
    }
    const before = pending.get(response)
    pending.set(response, (before ?? '') + text)
    if (before !== undefined) return
    const size = piece
    // What happens at once is one text, so that pieces begin and end within its lines.
    setImmediate(() => {
      const bytes = Buffer.from(pending.get(response) ?? '')
      pending.delete(response)
      if (!streams.has(response)) return
      for (let start = 0; start < bytes.length; start += size) response.write(bytes.subarray(start, start + size))
    })
  }

  function happen(type: string, object: Json): void {
    version += 1
    const line = event(type, { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } })
    history.push({ version, line })
    for (const stream of streams) write(stream, line)
  }

  const send = (text: string): void => {
    for (const stream of streams) write(stream, text)
  }
  const drop = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        drop()
      }),
  )
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-kubernetes-'))
  closing(async () => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'config')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(kubeconfig, JSON.stringify(configOf(address)))
  return {
    kubeconfig,
    asked,
    get watching() {
      return streams.size
    },
    get version() {
      return version
    },
    put(name, label, shown, more = {}) {
      const before = objects.get(name)
      const uid = before?.metadata.uid ?? `uid-${version + 1}`
      const { metadata, ...rest } = bundle(label, shown) as Json
      const resourceVersion = String(version + 1)
      const object = { ...rest, metadata: { ...metadata, namespace: 'default', name, uid, resourceVersion, ...more } }
      objects.set(name, object)
      happen(before ? 'MODIFIED' : 'ADDED', object)
    },
    remove(name) {
      const object = objects.get(name)
      objects.delete(name)
      happen('DELETED', object)
    },
    bookmark() {
      version += 1
      const metadata = { resourceVersion: String(version) }
      send(event('BOOKMARK', { apiVersion: 'k8splugin.io/v1alpha1', kind: 'ResourceBundleState', metadata }))
    },
    send,
    end() {
      for (const stream of streams) stream.end()
      streams.clear()
    },
    drop,
    compact(told) {
      // A watch that resumes from before now has missed something, and cannot know what.
      version += 1
      oldest = version
      expired = told
      history.length = 0
    },
    restore(to) {
      version = to
      history.splice(0, history.length, ...history.filter((one) => one.version <= to))
      objects.clear()
      for (const { line } of history) {
        const { type, object } = JSON.parse(line) as Json
        if (type === 'DELETED') objects.delete(object.metadata.name)
        else objects.set(object.metadata.name, object)
      }
      for (const stream of streams) stream.end()
      streams.clear()
    },
    expirePages(times) {
      expiring = times
    },
    refuse(code, headers = {}, message = undefined) {
      how = { status: code, headers, ...(message && { message }) }
    },
    garble(text) {
      garbled = text
    },
    addItems(items) {
      added = items
    },
    fallSilent() {
      how = 'silent'
    },
    accept() {
      how = 'accept'
    },
    cutInto(bytes) {
      piece = bytes
    },
  }
}

function configOf(server: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'edge',
    clusters: [{ name: 'edge', cluster: { server } }],
    users: [{ name: 'watcher', user: { token: 'a-token-for-tests' } }],
    contexts: [{ name: 'edge', context: { cluster: 'edge', user: 'watcher' } }],
  }
}

function event(type: string, object: Json): string {
  return `${JSON.stringify({ type, object })}\n`
}

function status(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `it says ${code}` }
}

function say(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
