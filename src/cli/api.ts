/** The public GraphQL API as any program may use it: a request, or a subscription that outlives its connection. */
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'graphql-ws'

export type Variables = Readonly<Record<string, unknown>>

export interface Api {
  /** The server's address, without a trailing slash. */
  readonly url: string
  /** The answer's data. Throws an ApiError. */
  ask<Data>(document: string, variables?: Variables): Promise<Data>
  /**
   * Tells `next` each result's data until the signal is aborted; a lost connection is made again. `resume` says from the latest
   * data with which variables: without it the subscription begins anew, as those of a state do. Rejects with an ApiError only
   * when asking again cannot help.
   */
  follow<Data>(subscription: Subscription<Data>, signal: AbortSignal): Promise<void>
}

export interface Subscription<Data> {
  readonly query: string
  readonly variables?: Variables
  readonly resume?: (latest: Data) => Variables
  readonly next: (data: Data) => void
  /** The connection is lost (with the reason) or there again (null). */
  readonly interrupted?: (reason: string | null) => void
}

/** `unreachable` and `busy` pass; the others do not. */
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

/** A request that takes longer than this is given up. */
const patience = 30_000
/** Between two signs of life of a subscription's connection, and how long the answer may take. */
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
      signal: AbortSignal.timeout(patience),
    }).catch((error: unknown) => {
      throw new ApiError('unreachable', `${url} cannot be reached: ${reasonOf(error)}`)
    })
    const answer = (await response.json().catch(() => null)) as { data?: Data; errors?: GraphqlError[] } | null
    if (response.status === 429 || response.status >= 500)
      throw new ApiError('busy', `${url} cannot answer now (HTTP ${response.status}): try again later`)
    if (response.status === 401 || response.status === 403)
      throw new ApiError('refused', messageOf(answer?.errors) ?? `${url} asks who you are: give a token`)
    if (answer?.errors) throw toApiError(answer.errors)
    if (!answer?.data) throw new ApiError('invalid', `${url} does not answer like Rollcall (HTTP ${response.status})`)
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
      // At random up to twice as long each time: a crowd of watchers does not return at once.
      const wait = Math.min(250 * 2 ** failures, longestWait) * (0.5 + Math.random() / 2)
      await delay(wait, undefined, { signal }).catch(() => undefined)
    }
  }

  return { url, ask, follow }
}

/** One connection's life. Resolves with why it ended; rejects with an ApiError when it will be no better the next time. */
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
      // A peer that vanished without a word never closes.
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
              reject(new ApiError('refused', `${url} refuses your token, or asks for one: ${reasonOf(error)}`))
            else resolve(reasonOf(error))
          },
          complete: () => resolve('the server has ended the stream'),
        },
      )
    })
  } finally {
    clearTimeout(overdue)
    signal.removeEventListener('abort', leave)
    await client.dispose()
  }
}

/** The close codes that graphql-transport-ws has for a client that must not come again as it is. */
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
  return new ApiError(problem, messageOf(errors) ?? 'the server gives no reason', code)
}

function messageOf(errors: readonly GraphqlError[] | undefined): string | undefined {
  return errors?.map(({ message }) => message).join('\n')
}

/** fetch hides what happened in its error's cause. */
function reasonOf(error: unknown): string {
  if (isCloseEvent(error)) return `the connection was closed (${[error.code, error.reason].filter(Boolean).join(' ')})`
  if (!(error instanceof Error)) return 'the connection failed'
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
  return code ?? message
}
