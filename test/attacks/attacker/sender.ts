/** Sends one input and says what came of it. */
import { Agent, request as httpRequest } from 'node:http'
import { WebSocket } from 'ws'
import type { HostileIssuer } from './hostile-issuer.ts'
import type { DirectInput, OperationInput, RestInput } from './inputs.ts'
import { signIn } from './sign-in.ts'

export interface Sent {
  /** 0: the connection ended without an answer, or a socket was closed. */
  readonly status: number
  /** The first of an answer's characters. */
  readonly text: string
  readonly retryAfter: string | undefined
}

export interface Sender {
  /** `isLeft`: the attacker leaves after the first bytes of the answer, or when none come soon. */
  send(input: DirectInput, token: string | null, isLeft?: boolean): Promise<Sent>
  close(): void
}

/** Milliseconds without an answer: longer than any limit of the server's. */
const silence = 60_000
/** Milliseconds after which a subscription without an event is left. */
const quiet = 50
const mostText = 4_000
export const lost: Sent = { status: 0, text: '', retryAfter: undefined }

/** `issuer`: null where no one signs in. */
/** Of streams. */
const accepts: Readonly<Partial<Record<OperationInput['over'], string>>> = {
  ...{ events: 'text/event-stream', parts: 'multipart/mixed;subscriptionSpec=1.0' },
  later: 'multipart/mixed;incrementalSpec=v0.2, multipart/mixed;deferSpec=20220824, application/json',
}

export function createSender(url: string, connections: number, issuer: HostileIssuer | null): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(url)
  const sockets = new Map<string, Promise<OpenSocket>>()
  let operations = 0

  /** `leave`: an answer that is a stream is left after its first event, any answer after its first bytes. */
  function ask(
    input: RestInput,
    token: string | null,
    leave: 'never' | 'event' | 'quiet' | 'early' = 'never',
  ): Promise<Sent> {
    return new Promise((resolve) => {
      const headers = { ...input.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) }
      const { method, path, body } = input
      const request = httpRequest({ agent, hostname, port, method, path, headers, timeout: silence }, (response) => {
        let text = ''
        const { statusCode: status = 0 } = response
        const isStream = leave !== 'never' && /event-stream|multipart/.test(response.headers['content-type'] ?? '')
        const patience = isStream && leave === 'quiet' ? setTimeout(() => response.destroy(), quiet) : undefined
        response.setEncoding('utf8').on('data', (chunk: string) => {
          if (text.length < mostText) text += chunk
          if (leave === 'early' || (isStream && /^(data|event): .*\n|"payload"/m.test(text))) response.destroy()
        })
        response
          .on('error', () => undefined)
          .on('close', () => {
            clearTimeout(patience)
            resolve({ status, text: text.slice(0, mostText), retryAfter: response.headers['retry-after'] })
          })
      })
      const early = leave === 'early' ? setTimeout(() => request.destroy(), quiet) : undefined
      request.on('timeout', () => request.destroy())
      request.on('error', () => resolve(lost))
      request.on('close', () => clearTimeout(early))
      request.end(body ?? undefined)
    })
  }

  async function openedSocket(token: string | null): Promise<OpenSocket> {
    const key = token ?? ''
    const known = sockets.get(key)
    const opened = known ? await known.catch(() => null) : null
    if (opened?.socket.readyState === WebSocket.OPEN) return opened
    // Another input may have opened one meanwhile.
    if (sockets.get(key) === known) sockets.set(key, openSocket(url, token))
    return sockets.get(key) ?? openedSocket(token)
  }

  async function overSocket({ request, isSubscription }: OperationInput, token: string | null): Promise<Sent> {
    const { socket, ask: subscribe } = await openedSocket(token)
    operations += 1
    const id = `o${operations}`
    const text = await subscribe(id, request, isSubscription ? quiet : silence)
    if (text !== null && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id, type: 'complete' }))
    return text === null ? lost : { status: 200, text: text.slice(0, mostText), retryAfter: undefined }
  }

  /** A socket of its own: the server may close it. */
  async function frame(text: string): Promise<Sent> {
    const { socket } = await openSocket(url, null)
    const answer = new Promise<string>((resolve) => {
      socket.on('message', (message) => resolve(String(message)))
      socket.on('close', (code) => resolve(`closed ${code}`))
    })
    socket.send(text)
    // Not every frame is answered; a ping is, after it.
    socket.send('{"type":"ping"}')
    const told = await answer
    socket.terminate()
    return { status: told === 'closed 1011' ? 500 : 200, text: told.slice(0, mostText), retryAfter: undefined }
  }

  function operate(input: OperationInput, token: string | null): Promise<Sent> {
    const { over, request, isSubscription } = input
    if (over === 'socket') return overSocket(input, token)
    const body = JSON.stringify(request)
    const { caller } = input
    const headers = { ...input.headers, accept: accepts[over] ?? 'application/json' }
    if (over === 'get' && body.length < 6_000) {
      const variables = JSON.stringify(request.variables)
      const search = new URLSearchParams({ query: request.query.toWellFormed(), variables })
      return ask({ kind: 'rest', caller, method: 'GET', path: `/graphql?${search}`, headers, body: null }, token)
    }
    const post = { ...headers, 'content-type': 'application/json' }
    const rest: RestInput = {
      kind: 'rest',
      caller,
      method: 'POST',
      path: '/graphql',
      headers: post,
      body: Buffer.from(body),
    }
    return ask(rest, token, !accepts[over] ? 'never' : isSubscription ? 'quiet' : 'event')
  }

  return {
    async send(input, token, isLeft = false) {
      try {
        if (input.kind === 'rest') return await ask(input, token, isLeft ? 'early' : 'never')
        if (input.kind === 'sign-in') return issuer ? await signIn(url, issuer, input) : lost
        return input.kind === 'frame' ? await frame(input.text) : await operate(input, token)
      } catch {
        return lost
      }
    },
    close() {
      agent.destroy()
      for (const opened of sockets.values()) opened.then(({ socket }) => socket.terminate()).catch(() => undefined)
    },
  }
}

interface OpenSocket {
  readonly socket: WebSocket
  /** The first message about it; empty: none came in time; null: the socket is closed. */
  ask(id: string, payload: object, time: number): Promise<string | null>
}

/** Rejects when the server does not accept it. */
function openSocket(url: string, token: string | null): Promise<OpenSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const waiting = new Map<string, (text: string | null) => void>()
    socket.on('error', reject)
    socket.once('close', (code) => {
      reject(new Error(`closed with ${code}`))
      for (const finish of waiting.values()) finish(null)
    })
    socket.once('open', () => {
      const payload = token === null ? {} : { authorization: `Bearer ${token}` }
      socket.send(JSON.stringify({ type: 'connection_init', payload }))
    })
    socket.once('message', () => {
      socket.on('message', (message) => {
        const text = String(message)
        const [, id = ''] = /^\{"id":"(o\d+)"/.exec(text) ?? []
        waiting.get(id)?.(text)
      })
      resolve({
        socket,
        ask: (id, payload, time) =>
          new Promise((answer) => {
            const timer = setTimeout(() => waiting.get(id)?.(''), time)
            waiting.set(id, (text) => {
              clearTimeout(timer)
              waiting.delete(id)
              answer(text)
            })
            socket.send(JSON.stringify({ id, type: 'subscribe', payload }))
          }),
      })
    })
  })
}
