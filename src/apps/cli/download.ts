/** Asks a server for what may be larger than memory, and ends with the exit code of what failed. */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { escapeLine } from '../../domain/look-alike.ts'
import { bearerToken, commandOf, exitCodes, serverAddress, UsageError } from '../../server/process/arguments.ts'
import { readJson } from '../client/request.ts'
import { findStoredSession } from './stored-sessions.ts'

/** The server refuses. `status` 0: it cannot be reached. */
export class ServerError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ServerError'
    this.status = status
  }
}

/** The file cannot be written. */
export class FileError extends Error {
  constructor(file: string, cause: Error) {
    super(`cannot write ${file}: ${cause.message}`, { cause })
    this.name = 'FileError'
  }
}

/** Throws a FileError. */
export function written<Result>(file: string, write: () => Promise<Result>): Promise<Result> {
  return write().catch((error: Error) => {
    throw new FileError(file, error)
  })
}

/** The server of the options, and the token for it. Throws a UsageError. */
export async function findServer(values: { readonly url?: string | undefined; readonly token?: string | undefined }) {
  const address = serverAddress(values.url, process.env).replace(/\/+$/, '')
  const token = bearerToken(values.token, process.env) ?? (await findStoredSession(address, process.env))?.token
  return { address, token }
}

/** Bytes. */
const largestAnswer = 1 << 20

export type Ask = (path: string, method?: 'GET' | 'HEAD') => Promise<IncomingMessage>

/** Milliseconds of silence after which the system asks whether the other side is still there. */
const keepAlive = 60_000

/**
 * Waits for as long as the connection exists: where few rows match, the server sends nothing for a long time. fetch was rejected, because it gives
 * up after five minutes without a byte.
 */
export function createAsk(address: string, token: string | undefined): Ask {
  const request = address.startsWith('https:') ? requestHttps : requestHttp
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  return async (path, method = 'GET') => {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(`${address}${path}`, { method, headers }, resolve)
      sent.on('error', reject).on('socket', (socket) => socket.setKeepAlive(true, keepAlive))
      sent.end()
    }).catch((error: NodeJS.ErrnoException) => {
      // If all of several addresses fail, the error has no message.
      throw new ServerError(0, `can't reach the server at ${address}: ${error.message || error.code}`)
    })
    const { statusCode: status = 0 } = response
    if (status >= 200 && status < 300) return response
    const problem = (await read(response).catch(() => ({}))) as { readonly detail?: string }
    throw new ServerError(status, problem.detail ?? `the server answered with HTTP ${status}`)
  }
}

/** A manifest, or the reason of a refusal. */
export const read = (answer: IncomingMessage): Promise<unknown> =>
  readJson(new Response(Readable.toWeb(answer) as ReadableStream), largestAnswer)

/** Prints the error, and returns the exit code. */
export function explainFailure(command: string): (error: unknown) => number {
  return (error) => {
    if (error instanceof UsageError) {
      console.error(`${error.message}\nFor all options: ${commandOf('rollcall')} ${command} --help`)
      return exitCodes.usage
    }
    if (error instanceof FileError) {
      console.error(error.message)
      return exitCodes.failed
    }
    if (!(error instanceof ServerError)) throw error
    console.error(escapeLine(error.message))
    if (error.status === 401 || error.status === 403) return exitCodes.refused
    return mayPass(error) ? exitCodes.unavailable : exitCodes.failed
  }
}

/** Whether the same request may succeed later. */
export function mayPass({ status }: ServerError): boolean {
  return status === 0 || status >= 500 || status === 429
}
