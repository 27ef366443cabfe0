/** A client of the public GraphQL API, in terminals and browsers: requests, and subscriptions that survive a lost connection. */
import { createClient } from 'graphql-ws'

export type Variables = Readonly<Record<string, unknown>>

interface GraphqlError {
  readonly message: string
  readonly extensions?: Variables
}

/** `code`: that of the first GraphQL error; UNREACHABLE: no response, or a part of one; NO_ANSWER: no response of the API; UNKNOWN otherwise. */
export class ApiError extends Error {
  readonly code: string
  readonly facts: Variables
  /** The HTTP status; 0 without a response, or over a socket. */
  readonly status: number

  constructor(code: string, message: string, { facts = {}, status = 0 } = {}) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.facts = facts
    this.status = status
  }
}

function toApiError(errors: readonly GraphqlError[], status = 0): ApiError {
  const facts = errors[0]?.extensions ?? {}
  const code = typeof facts.code === 'string' ? facts.code : 'UNKNOWN'
  return new ApiError(code, errors.map(({ message }) => message).join('\n'), { facts, status })
}

/** Bytes. The server limits the text of an answer to less. One without end would take all memory of this machine. */
export const largestAnswer = 64 << 20

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
    throw new ApiError('TOO_LARGE', `the server answers with more than ${most >> 20} MiB`, { status: response.status })
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

/** Throws a SyntaxError, or an ApiError if there are more than `most` bytes. */
export const readJson = async (response: Response, most = largestAnswer): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(await readBytes(response, most)))

/** Throws an ApiError. */
export async function request<Data>(
  url: string,
  body: { readonly query: string; readonly variables: unknown },
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
): Promise<Data> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
    signal,
  }).catch((error: unknown) => {
    throw new ApiError('UNREACHABLE', reasonOf(error))
  })
  const { status } = response
  const read = readJson(response) as Promise<{ data?: Data; errors?: GraphqlError[] } | null>
  const answer = await read.catch((error: unknown) => {
    if (error instanceof SyntaxError) return null
    if (error instanceof ApiError) throw error
    // The connection was lost, or the time was over, in the middle of the answer.
    throw new ApiError('UNREACHABLE', reasonOf(error))
  })
  if (answer?.errors?.[0]) throw toApiError(answer.errors, status)
  if (answer?.data) return answer.data
  throw new ApiError('NO_ANSWER', `The server answered with HTTP ${status}.`, { status })
}

export interface Follower<Data> {
  readonly next: (data: Data) => void
  /** Derives the variables to resume with from the latest data. Without it each connection starts over, as state streams do. */
  readonly resume?: ((data: Data) => Variables) | undefined
  /** The server answered with an error. The subscription is retried unless it is left. */
  readonly failed?: ((error: ApiError) => void) | undefined
  /** The server ended the stream. It is retried. */
  readonly ended?: () => void
}

/** Milliseconds between pings. */
const keepAlive = 10_000
const longestWait = 10_000

interface SocketOptions {
  readonly url: string
  readonly connectionParams?: Record<string, unknown>
  /** False: connects without a subscription too. */
  readonly lazy?: boolean
  /** Absent: that of the platform. */
  readonly webSocketImpl?: unknown
  readonly retryAt?: (time: number) => void
}

export function createSocket({ url, connectionParams = {}, lazy = true, webSocketImpl, retryAt }: SocketOptions) {
  let overdue: ReturnType<typeof setTimeout> | undefined
  let tryNow = (): void => undefined

  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    connectionParams,
    lazy,
    ...(webSocketImpl !== undefined && { webSocketImpl }),
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: () => true,
    keepAlive,
    // Exponential backoff with jitter, so that many clients do not reconnect at the same time.
    retryWait(tries) {
      const wait = Math.min(250 * 2 ** tries, longestWait) * (0.5 + Math.random() / 2)
      retryAt?.(Date.now() + wait)
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, wait)
        tryNow = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
  })
  // A peer that vanishes without closing is found by its missing pong.
  client.on('ping', (isReceived) => {
    if (!isReceived) overdue = setTimeout(() => client.terminate(), keepAlive / 2)
  })
  client.on('message', () => clearTimeout(overdue))
  client.on('closed', () => clearTimeout(overdue))

  return {
    on: client.on,
    /** Calls `next` with each result, and reconnects when the connection is lost. The returned function unsubscribes. */
    follow<Data>(query: string, variables: Variables, { next, resume, failed, ended }: Follower<Data>) {
      // graphql-ws sends this same object on each reconnect: writing the cursor into it makes the subscription resume there.
      const payload = { query, variables: { ...variables } as Record<string, unknown> }
      let leave = (): void => undefined
      let timer: ReturnType<typeof setTimeout>
      let isLeft = false

      function begin(): void {
        let hasFailed = false
        leave = client.subscribe<Data>(payload, {
          next({ data, errors }) {
            if (hasFailed) return
            if (errors?.[0]) {
              hasFailed = true
              // The server would go on with this one, beside the next.
              leave()
              return fail(errors)
            }
            if (!data) return
            if (resume) Object.assign(payload.variables, resume(data))
            next(data)
          },
          error: (error) => (Array.isArray(error) ? fail(error) : again()),
          // The server ends a stream that overflows; it resumes after the last cursor.
          complete() {
            if (hasFailed || isLeft) return
            ended?.()
            again()
          },
        })
      }
      function fail(errors: readonly GraphqlError[]): void {
        failed?.(toApiError(errors))
        again()
      }
      function again(): void {
        clearTimeout(timer)
        if (!isLeft) timer = setTimeout(begin, 500 + 1_000 * Math.random())
      }

      begin()
      return () => {
        isLeft = true
        clearTimeout(timer)
        leave()
      }
    },
    /** Retries at once. */
    reconnect: () => tryNow(),
    close() {
      tryNow()
      // It fails if the socket does not connect any more, which is what is wanted.
      Promise.resolve(client.dispose()).catch(() => undefined)
    },
  }
}

/** The browser's CloseEvent, which Node's types do not know. A DOMException has a numeric code, too. */
export function isCloseEvent(event: unknown): event is { readonly code: number; readonly reason: string } {
  if (typeof event !== 'object' || event === null) return false
  return 'code' in event && typeof event.code === 'number' && 'reason' in event
}

/** fetch puts the reason of a failure into its error's `cause`. */
export function reasonOf(error: unknown): string {
  if (isCloseEvent(error)) return `the connection was closed (${[error.code, error.reason].filter(Boolean).join(' ')})`
  if (!(error instanceof Error)) return 'the connection failed'
  const { name, code, message } = (error.cause ?? error) as Error & { readonly code?: unknown }
  if (name === 'TimeoutError') return 'it did not answer in time'
  return typeof code === 'string' ? code : message
}
