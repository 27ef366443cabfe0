/** A client of the public GraphQL API: requests, and subscriptions that survive a lost connection. */
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'graphql-ws'

export type Variables = Readonly<Record<string, unknown>>

export interface Api {
  /** The server's address, without a trailing slash. */
  readonly url: string
  /** The answer's data. Throws an ApiError. */
  ask<Data>(document: string, variables?: Variables): Promise<Data>
  /**
   * Calls `next` with each result until the signal is aborted, and reconnects when the connection is lost. `resume` derives the
   * variables to resume with from the latest result; without it the subscription starts over, as state subscriptions do.
   * Rejects with an ApiError only when a retry cannot succeed.
   */
  follow<Data>(subscription: Subscription<Data>, signal: AbortSignal): Promise<void>
}

export interface Subscription<Data> {
  readonly query: string
  readonly variables?: Variables
  readonly resume?: (latest: Data) => Variables
  readonly next: (data: Data) => void
  /** The connection is lost (with the reason) or restored (null). */
  readonly interrupted?: (reason: string | null) => void
}

/** `unreachable` and `busy` are worth a retry; the others are not. */
export type ApiProblem = 'unreachable' | 'busy' | 'refused' | 'invalid'

export class ApiError extends Error {
  readonly problem: ApiProblem
  /** The first GraphQL error's code. */
  readonly code: string | undefined

  constructor(problem: ApiProblem, message: string, code?: string) {
    super(message)
    this.name = 'ApiError'
    this.problem = problem
    this.code = code
  }
}

interface GraphqlError {
  readonly message: string
  readonly extensions?: { readonly code?: unknown }
}

const requestTimeout = 30_000
/** Interval of pings on a subscription's connection. */
const keepAlive = 10_000
const longestWait = 10_000

/** `token`: an API key or a JWT, sent as a bearer token. */
export function createApi(address: string, token?: string): Api {
  const url = address.replace(/\/+$/, '')
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }

  async function ask<Data>(query: string, variables: Variables = {}): Promise<Data> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...authorization },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(requestTimeout),
    }).catch((error: unknown) => {
      throw new ApiError('unreachable', `can't reach the server at ${url}: ${reasonOf(error)}`)
    })
    const answer = (await response.json().catch(() => null)) as { data?: Data; errors?: GraphqlError[] } | null
    if (response.status === 429 || response.status >= 500)
      throw new ApiError(
        'busy',
        `the server at ${url} is overloaded or unavailable (HTTP ${response.status}): try again later`,
      )
    if (response.status === 401 || response.status === 403)
      throw new ApiError(
        'refused',
        messageOf(answer?.errors) ?? `the server at ${url} requires a token: use --token or ROLLCALL_TOKEN`,
      )
    if (answer?.errors) throw toApiError(answer.errors)
    if (!answer?.data)
      throw new ApiError('invalid', `${url} is not a Rollcall server (HTTP ${response.status}): check the address`)
    return answer.data
  }

  async function follow<Data>(subscription: Subscription<Data>, signal: AbortSignal): Promise<void> {
    let variables = subscription.variables ?? {}
    let failures = 0
    while (!signal.aborted) {
      const reason = await attend(url, authorization, { ...subscription, variables }, signal, (data) => {
        if (failures > 0) subscription.interrupted?.(null)
        failures = 0
        if (subscription.resume) variables = { ...variables, ...subscription.resume(data) }
        subscription.next(data)
      })
      if (signal.aborted) return
      failures += 1
      subscription.interrupted?.(reason)
      // Exponential backoff with jitter, so that many watchers do not reconnect at the same time.
      const wait = Math.min(250 * 2 ** failures, longestWait) * (0.5 + Math.random() / 2)
      await delay(wait, undefined, { signal }).catch(() => undefined)
    }
  }

  return { url, ask, follow }
}

/** Serves one connection. Resolves with the reason it ended; rejects with an ApiError when a retry cannot succeed. */
async function attend<Data>(
  url: string,
  authorization: Variables,
  { query, variables = {} }: Subscription<Data>,
  signal: AbortSignal,
  next: (data: Data) => void,
): Promise<string> {
  let overdue: NodeJS.Timeout | undefined
  let reject: (error: ApiError) => void
  const client = createClient({
    url: `${url.replace(/^http/, 'ws')}/graphql`,
    connectionParams: { ...authorization },
    retryAttempts: 0,
    keepAlive,
    on: {
      // A peer that vanishes without closing is found by its missing pong.
      ping: (isReceived) => {
        if (!isReceived) overdue = setTimeout(() => client.terminate(), keepAlive / 2)
      },
      pong: (isReceived) => {
        if (isReceived) clearTimeout(overdue)
      },
    },
  })
  const leave = (): void => void client.dispose()
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await new Promise<string>((resolve, refuse) => {
      reject = refuse
      client.subscribe<Data>(
        { query, variables },
        {
          next: ({ data, errors }) => {
            if (errors) reject(toApiError(errors))
            else if (data) next(data)
          },
          error: (error) => {
            if (Array.isArray(error)) reject(toApiError(error as readonly GraphqlError[]))
            else if (isFatal(error))
              reject(
                new ApiError('refused', `the server at ${url} rejects the token, or requires one: ${reasonOf(error)}`),
              )
            else resolve(reasonOf(error))
          },
          complete: () => resolve('the server ended the stream'),
        },
      )
    })
  } finally {
    clearTimeout(overdue)
    signal.removeEventListener('abort', leave)
    await client.dispose()
  }
}

/** The close codes of graphql-transport-ws after which the same client must not reconnect. */
function isFatal(error: unknown): boolean {
  return isCloseEvent(error) && [4400, 4401, 4403, 4406, 4409].includes(error.code)
}

/** The browser's CloseEvent, which Node's types do not know. */
function isCloseEvent(error: unknown): error is { readonly code: number; readonly reason: string } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number'
}

function toApiError(errors: readonly GraphqlError[]): ApiError {
  const given = errors[0]?.extensions?.code
  const code = typeof given === 'string' ? given : undefined
  const problem = code === 'UNAVAILABLE' || code === 'TOO_MANY' ? 'busy' : code === 'FORBIDDEN' ? 'refused' : 'invalid'
  return new ApiError(problem, messageOf(errors) ?? 'the server gave no reason', code)
}

function messageOf(errors: readonly GraphqlError[] | undefined): string | undefined {
  return errors?.map(({ message }) => message).join('\n')
}

/** fetch puts the reason of a failure into its error's `cause`. */
function reasonOf(error: unknown): string {
  if (isCloseEvent(error)) return `the connection was closed (${[error.code, error.reason].filter(Boolean).join(' ')})`
  if (!(error instanceof Error)) return 'the connection failed'
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
  return code ?? message
}
