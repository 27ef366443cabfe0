/**
 * `fetch` for what an issuer publishes. The libraries read an answer as a whole and parse it at once, so bytes and values are limited before they
 * get it. What is no JSON is an empty answer for them: they would create its values before they see the mistake.
 */
import { NotJson, readAnswer } from './json.ts'
import { AnswerError, readBytes } from './request.ts'

/** Bytes. Key sets of large issuers have some tens of KiB. */
const largest = 1 << 20
/** A person may be in hundreds of groups. A key has some ten values. */
const limits = { most: 20_000, longestText: 256 << 10 }

export async function fetchBounded(
  url: string,
  options?: Omit<RequestInit, 'body'> & { readonly body?: unknown },
): Promise<Response> {
  // The libraries' types of a body are wider than those of Node.
  const response = await fetch(url, { ...options, redirect: 'manual' } as RequestInit)
  if (response.body === null) return response
  const { bytes, isWhole } = await readBytes(response.body, largest)
  if (!isWhole) throw new AnswerError(`it answers with more than ${largest} bytes`)
  const { status, statusText, headers } = response
  return new Response((await isJson(bytes)) ? new Uint8Array(bytes) : '', { status, statusText, headers })
}

async function isJson(bytes: Uint8Array): Promise<boolean> {
  try {
    await readAnswer(bytes, limits)
    return true
  } catch (error) {
    if (error instanceof NotJson) return false
    throw error
  }
}
