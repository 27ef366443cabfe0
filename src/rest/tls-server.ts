/** The server on https: which ciphers it speaks, whom it asks for a certificate, and how its own is replaced. */
import type { RequestListener, ServerOptions } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { TlsFiles } from './tls.ts'
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

export function createTlsServer(
  watch: TlsWatch,
  { handshakeTimeout, ...options }: ServerOptions & { readonly handshakeTimeout: number },
  listener: RequestListener,
): Server {
  // Whoever has no certificate, or one that is not trusted, is let in all the same: people come here, too. Devices are asked with their report.
  const asking = watch.files().clientCa === null ? {} : { requestCert: true, rejectUnauthorized: false }
  const server = createServer({ ...options, ...contextOf(watch.files()), ...asking, handshakeTimeout }, listener)
  const vouchedFor = new Set<TLSSocket>()
  server.on('secureConnection', (socket) => {
    if (!socket.authorized) return
    vouchedFor.add(socket)
    socket.once('close', () => vouchedFor.delete(socket))
  })
  watch.follow((files, before) => {
    server.setSecureContext(contextOf(files))
    // An authority that was taken away must not be believed for as long as a connection lasts. Devices come again.
    if (files.clientCa !== before.clientCa) for (const socket of vouchedFor) socket.destroy()
  })
  return server
}

function contextOf({ cert, key, clientCa }: TlsFiles): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2', ciphers, ...(clientCa === null ? {} : { ca: clientCa }) }
}
