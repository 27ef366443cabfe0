/** Holds the response of another handler back until it is complete, to add an ETag and to cache it. */
import type { ServerResponse } from 'node:http'
import { type CompleteResponse, endNotModified, entityTagOf } from './entity-tag.ts'

/**
 * `complete` gets the response, or null if it is a stream or an error, which is not held back. If it returns a response,
 * the client has that one already and gets 304.
 */
export function holdResponse(
  response: ServerResponse,
  complete: (held: CompleteResponse | null) => CompleteResponse | null,
): void {
  const before = new Set(response.getHeaderNames())
  const parts: Buffer[] = []
  let isHeld = false
  const own = { writeHead: response.writeHead, write: response.write, end: response.end }
  const give = (): void => void Object.assign(response, own)
  Object.assign(response, {
    writeHead(status: number, ...more: readonly unknown[]) {
      const given = more.find((one) => typeof one === 'object' && one !== null) as Record<string, unknown> | undefined
      for (const [name, value] of Object.entries(given ?? {})) response.setHeader(name, value as string)
      response.statusCode = status
      isHeld = status === 200 && /json/.test(String(response.getHeader('content-type') ?? ''))
      if (isHeld) return response
      give()
      complete(null)
      return response.writeHead(status)
    },
    write(chunk: string | Uint8Array, ...more: readonly unknown[]) {
      parts.push(Buffer.from(chunk as string))
      callbackOf(more)?.()
      return true
    },
    end(chunk?: unknown, ...more: readonly unknown[]) {
      give()
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) parts.push(Buffer.from(chunk as string))
      const body = Buffer.concat(parts)
      const headers: Record<string, string> = {}
      for (const name of response.getHeaderNames())
        if (!before.has(name) && name !== 'content-length') headers[name] = String(response.getHeader(name))
      const etag = entityTagOf({ headers: { 'content-type': String(response.getHeader('content-type') ?? '') }, body })
      const unchanged = complete(isHeld ? { headers: { ...headers, etag }, body } : null)
      if (isHeld) response.setHeader('etag', etag)
      if (unchanged) return endNotModified(response, unchanged)
      response.setHeader('content-length', body.length)
      return response.end(body, callbackOf([chunk, ...more]))
    },
  })
}

function callbackOf(given: readonly unknown[]): (() => void) | undefined {
  return given.find((one) => typeof one === 'function') as (() => void) | undefined
}
