/** Opens the socket to one address, with TLS where the URL wants it. postgres.js takes it from here: its own dialling does not say what failed. */
import { readFile } from 'node:fs/promises'
import { connect, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { type Address, type Login, nameOf } from './url.ts'

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** `code`: of the system, or one that refusal.ts explains. No statement was sent. */
export function failure(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code, syscall: 'connect' })
}

/** `signal`: the caller has given up, or it takes too long. */
export async function dial(address: Address, login: Login, signal: AbortSignal): Promise<Socket> {
  const socket = address.host.startsWith('/')
    ? connect({ path: `${address.host}/.s.PGSQL.${address.port}` })
    : connect({ host: address.host, port: address.port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 5_000 })
  // Errors after the last listener of an attempt must not end the process.
  socket.on('error', () => undefined)
  const close = (): void => void socket.destroy()
  signal.addEventListener('abort', close)
  try {
    await happened(socket, 'connect', signal)
    if (address.host.startsWith('/') || login.tls.mode === 'disable') return socket
    return await secure(socket, address, login, signal)
  } catch (error) {
    close()
    throw error
  } finally {
    signal.removeEventListener('abort', close)
  }
}

async function secure(socket: Socket, address: Address, { tls }: Login, signal: AbortSignal): Promise<Socket> {
  socket.write(sslRequest)
  const answer = await firstByte(socket, signal)
  if (answer !== 'S') {
    if (tls.mode === 'prefer') return socket
    throw failure('ERR_ROLLCALL_NO_TLS', `${nameOf(address)} does not offer TLS`)
  }
  const secured: TLSSocket = tlsConnect({ socket, ...(await optionsOf(address, tls)) })
  secured.on('error', () => undefined)
  await happened(secured, 'secureConnect', signal)
  return secured
}

/** The files are read for each connection, so a replaced one is used without a restart. */
async function optionsOf({ host }: Address, tls: Login['tls']): Promise<ConnectionOptions> {
  const isVerified = tls.mode === 'verify-ca' || tls.mode === 'verify-full'
  const [ca, cert, key] = await Promise.all([
    isVerified && tls.rootCert !== null && tls.rootCert !== 'system' ? read('sslrootcert', tls.rootCert) : undefined,
    tls.cert === null ? undefined : read('sslcert', tls.cert),
    tls.key === null ? undefined : read('sslkey', tls.key),
  ])
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(tls.passphrase !== null && { passphrase: tls.passphrase }),
    // An address has no name to ask for. Kubernetes' names may have a dot at the end, and certificates have none.
    ...(isIP(host) ? {} : { servername: host.replace(/\.$/, '') }),
    host,
    rejectUnauthorized: isVerified,
    ...(tls.mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  }
}

export function read(what: string, file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause
    throw failure('ERR_ROLLCALL_NO_FILE', `the file ${file} (${what}) cannot be read (${code})`, cause)
  })
}

/** One byte and no more: what follows it is of TLS, or of someone on the way. */
async function firstByte(socket: Socket, signal: AbortSignal): Promise<string> {
  await happened(socket, 'readable', signal)
  const answer: Buffer | null = socket.read(1)
  if (answer === null || socket.readableLength > 0) throw failure('ECONNRESET', 'the server ended the connection')
  return answer.toString('latin1')
}

function happened(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fail = (error: Error): void => reject(error)
  const end = (): void => reject(failure('ECONNRESET', 'the server ended the connection'))
  const abort = (): void => reject(signal.reason)
  socket.once(event, resolve).once('error', fail).once('close', end)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  return promise.finally(() => {
    socket.off(event, resolve).off('error', fail).off('close', end)
    signal.removeEventListener('abort', abort)
  })
}
