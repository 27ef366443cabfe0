/** One request, and its answer up to a limit. */
import { ApiError, toApiError, toUnreachable } from './errors.ts'
import type { Endpoint, Operation, Result } from './transport.ts'

/** Bytes. The server limits the text of an answer to less. One without end would take all memory of this machine. */
export const largestAnswer = 64 << 20

export const tooLarge = (most = largestAnswer, status = 0): ApiError =>
  new ApiError('TOO_LARGE', `the server answers with more than ${most >> 20} MiB`, { status })

/** Throws an ApiError if there are more than `most` bytes. */
export async function readBytes(response: Response, most = largestAnswer): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    parts.push(part.value)
    size += part.value.byteLength
    if (size <= most) continue
    // It closes the connection, and fails if that is lost already.
    reader?.cancel().catch(() => undefined)
    throw tooLarge(most, response.status)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

/** Throws a SyntaxError, or an ApiError if there are more than `most` bytes. */
export const readJson = async (response: Response, most = largestAnswer): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(await readBytes(response, most)))

/** Throws an ApiError. */
export async function send({ url, headers, fetch }: Endpoint, body: Operation, accept: string, signal?: AbortSignal) {
  const own = { ...(await headers()), 'content-type': 'application/json', accept }
  const init = { method: 'POST', headers: own, body: JSON.stringify(body), signal: signal ?? null }
  return fetch(url, init).catch((error: unknown) => {
    throw toUnreachable(error)
  })
}

/** Throws an ApiError if there are no data. */
export async function readResult(response: Response): Promise<Result> {
  const { status } = response
  const answer = (await readJson(response).catch((error: unknown) => {
    if (error instanceof SyntaxError) return null
    // The connection was lost, or the time was over, in the middle of the answer.
    throw toUnreachable(error)
  })) as Result | null
  if (answer?.data) return answer
  if (answer?.errors?.[0]) throw toApiError(answer.errors, status)
  throw new ApiError('NO_ANSWER', `The server answered with HTTP ${status}.`, { status })
}
