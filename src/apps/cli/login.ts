/** `rollcall login` and `rollcall logout`: a person signs in with a browser, on this machine or any other (OAuth 2.0 device authorization). */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { escapeLine } from '../../domain/look-alike.ts'
import { ApiError, isPassing, reasonOf } from '../client/errors.ts'
import { readJson } from '../client/request.ts'

import { findStoredSession, storeSession } from './stored-sessions.ts'

/** The answer of the server, which repeats what the issuer says. It is checked before it is used. */
const begun = z.object({
  userCode: z.string(),
  verificationUri: z.string(),
  verificationUriComplete: z.string().nullish(),
  /** Seconds. */
  interval: z.number().min(0).max(3_600),
  expiresIn: z.number().min(0).max(3_600).nullish(),
  handle: z.string(),
})

const opened = z.object({
  token: z.string().min(1),
  name: z.string(),
  roles: z.array(z.string()),
  /** The limit keeps the end of the session a valid date. */
  seconds: z.number().min(0).max(1e10),
})

/** Seconds. The server chooses how often it is asked, but not without a pause. */
const [usualExpiry, longestPause, leastPause] = [600, 60, 0.1]
/** Bytes of an answer. */
const largestAnswer = 1 << 20

type Tell = (line: string) => void

/** Throws an ApiError. */
export async function login(url: string, env: NodeJS.ProcessEnv, tell: Tell, signal: AbortSignal): Promise<void> {
  const body = checked(url, begun, (await send(url, 'POST', 'session/oidc/device', signal)).body)
  const address = body.verificationUriComplete ?? body.verificationUri
  tell(
    `Open ${escapeLine(address)}\nand confirm the code ${escapeLine(body.userCode)}. Confirm no code that you did not ask for.`,
  )
  const end = performance.now() + (body.expiresIn ?? usualExpiry) * 1_000
  // RFC 8628, 3.5: ask no more often than the issuer says, and again, less often, after an error that passes.
  for (let seconds = Math.max(body.interval, leastPause); ; ) {
    await sleep(seconds * 1_000, undefined, { signal })
    const asked = await send(url, 'POST', 'session/oidc/device/token', signal, {
      body: JSON.stringify({ handle: body.handle }),
    }).catch((error: unknown) => {
      if (error instanceof ApiError && isPassing(error) && performance.now() < end) return null
      throw error
    })
    if (asked === null) {
      seconds = Math.min(Math.max(2 * seconds, 1), longestPause)
      continue
    }
    if (asked.status === 202) {
      if (performance.now() >= end) throw new ApiError('FORBIDDEN', 'the code was not confirmed in time: sign in again')
      if ((asked.body as { status?: unknown } | null)?.status === 'slow down') seconds += 5
      continue
    }
    const { token, name, roles, seconds: lasting } = checked(url, opened, asked.body)
    const endsAt = Date.now() + lasting * 1_000
    await storeSession(url, { token, name, endsAt }, env)
    const until = new Date(endsAt).toISOString()
    tell(escapeLine(`Signed in as ${name} with the role ${roles.join(', ')}, until ${until} at the latest.`))
    return
  }
}

/** Throws an ApiError. */
export async function logout(url: string, env: NodeJS.ProcessEnv, tell: Tell, signal: AbortSignal): Promise<void> {
  const session = await findStoredSession(url, env)
  // The session of this machine ends even if the server is unreachable.
  await storeSession(url, null, env)
  if (session === null) return tell(`You are not signed in to ${url}.`)
  await send(url, 'DELETE', 'session', signal, { headers: { authorization: `Bearer ${session.token}` } })
  tell(`Signed out of ${url}.`)
}

/** Throws an ApiError. */
function checked<Shape extends z.ZodType>(url: string, shape: Shape, body: unknown): z.output<Shape> {
  const read = shape.safeParse(body)
  if (read.success) return read.data
  const places = [...new Set(read.error.issues.map(({ path }) => path.join('.')))].join(', ')
  throw new ApiError('NO_ANSWER', `the server at ${url} answers with something that is no sign-in: ${places}`)
}

async function send(
  url: string,
  method: string,
  path: string,
  signal: AbortSignal,
  { headers = {}, body = null }: { headers?: Readonly<Record<string, string>>; body?: string | null } = {},
): Promise<{ readonly status: number; readonly body: unknown }> {
  const unreachable = (error: unknown): never => {
    signal.throwIfAborted()
    throw new ApiError('UNREACHABLE', `can't reach the server at ${url}: ${reasonOf(error)}`)
  }
  const response = await fetch(`${url.replace(/\/+$/, '')}/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body,
    // Another server must not get the handle, which is worth a session.
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
  }).catch(unreachable)
  const { status } = response
  const read = readJson(response, largestAnswer).catch((error: unknown) => {
    if (error instanceof ApiError) throw error
    return error instanceof SyntaxError ? null : unreachable(error)
  })
  const answer = ((await read) ?? {}) as { readonly code?: string; readonly detail?: string }
  if (response.ok) return { status, body: answer }
  if (status === 404 && path.startsWith('session/oidc') && !/device authorization/.test(answer.detail ?? ''))
    throw new ApiError('NOT_FOUND', `the server at ${url} has no sign-in for persons: use an API key`, { status })
  throw new ApiError(answer.code ?? 'NO_ANSWER', answer.detail ?? `the server answers HTTP ${status}`, { status })
}
