/** The https server: its ciphers, its requests for client certificates, and the replacement of its own certificate. */

import { constants } from 'node:crypto'
import type { RequestListener, ServerOptions } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Trust } from '../../auth/devices/trust.ts'
import type { TlsWatch } from './tls-watch.ts'

/**
 * Mozilla's "intermediate" list without finite-field Diffie-Hellman: forward secrecy and authenticated encryption only. Node's default
 * also has AES-CBC with SHA-1, and RSA key exchange.
 */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/** `trust`: who names the authorities of devices' certificates. Null: the file does. */
export function createTlsServer(
  watch: TlsWatch,
  trust: Pick<Trust, 'authorities' | 'follow'> | null,
  { handshakeTimeout, ...options }: ServerOptions & { readonly handshakeTimeout: number },
  listener: RequestListener,
): Server {
  // A connection without a trusted certificate is accepted, because browsers have none. Device authentication checks the certificate per request.
  const asksClients = trust !== null || watch.files().clientCa !== null
  const clientCertificates = asksClients ? { requestCert: true, rejectUnauthorized: false } : {}
  const context = (): SecureContextOptions => contextOf(watch, trust)
  const server = createServer({ ...options, ...context(), ...clientCertificates, handshakeTimeout }, listener)
  // Each request is verified against the present authorities, so connections stay open.
  trust?.follow(() => server.setSecureContext(context()))
  const opening = trackOpening(server)
  const authorized = new Set<TLSSocket>()
  server.on('secureConnection', (socket) => {
    opening.delete(nameOf(socket))
    if (!socket.authorized) return
    authorized.add(socket)
    socket.once('close', () => authorized.delete(socket))
  })
  answerPlainHttp(server, opening)
  watch.follow((files, before) => {
    server.setSecureContext(context())
    if (files.clientCa === before.clientCa) return
    // No connection may outlast the trust in a removed authority. One without a complete handshake still trusts the former authorities, because
    // Node gives it its context when it is accepted. Devices reconnect.
    for (const socket of [...authorized, ...opening.values()]) socket.destroy()
  })
  return server
}

/** Connections that have not completed their handshake, by their name. */
type Opening = Map<string, Socket>

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

function trackOpening(server: Server): Opening {
  const opening: Opening = new Map()
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket)
    opening.set(name, socket)
    socket.once('close', () => opening.delete(name))
  })
  return opening
}

const plainBody = JSON.stringify({
  type: 'about:blank',
  title: 'Invalid Request',
  status: 400,
  code: 'INVALID_REQUEST',
  detail: 'this is plain HTTP, and the port speaks https: use https:// in the address',
  retryable: false,
})
const plainAnswer = `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/problem+json\r\nContent-Length: ${plainBody.length}\r\n\r\n${plainBody}`

/** Answers plain HTTP with a 400. Otherwise a client with http:// in its URL would see a broken connection and retry it as a network fault. */
function answerPlainHttp(server: Server, opening: Opening): void {
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ERR_SSL_HTTP_REQUEST') opening.get(nameOf(socket))?.end(plainAnswer)
  })
}

function contextOf(watch: TlsWatch, trust: Pick<Trust, 'authorities'> | null): SecureContextOptions {
  const { cert, key, clientCa } = watch.files()
  const own = { cert, key, minVersion: watch.minVersion, ciphers }
  // A resumed session would have only the first certificate that its client sent. Clients choose a certificate by the names of the authorities.
  if (trust) return { ...own, ca: [...trust.authorities()], secureOptions: constants.SSL_OP_NO_TICKET }
  return { ...own, ...(clientCa === null ? {} : { ca: clientCa }) }
}
