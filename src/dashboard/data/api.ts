/**
 * A client of the public GraphQL API: requests, and subscriptions that survive a lost connection.
 *
 *   connecting ── opened ──▸ live ── closed, or silent ──▸ lost ── retried with backoff ──▸ live
 */
import { computed, signal } from '@preact/signals'
import { createClient } from 'graphql-ws'
import type { Document } from './graphql.ts'

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** `since`: when the last message arrived, so the age of what is shown. */
  | { readonly state: 'lost'; readonly since: number; readonly nextTry: number | null }

export const connection = signal<Connection>({ state: 'connecting' })
/** Number of reconnects: after each one, earlier answers may be outdated. */
export const connections = signal(0)
/** The server requires a credential. */
export const isSignedOut = signal(false)
export const isLost = computed(() => connection.value.state === 'lost')

export class ApiError extends Error {
  readonly code: string
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.facts = facts
  }
}

interface GraphqlError {
  readonly message: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

const address = (path: string): URL => new URL(path, document.baseURI)

/** Throws an ApiError; its code is `UNREACHABLE` when the request fails without a response. */
export async function ask<Answer, Variables>(
  query: Document<Answer, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await fetch(address('graphql'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query: String(query), variables }),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError('UNREACHABLE', "Can't reach the server.")
  })
  const answer: { data?: Answer; errors?: GraphqlError[] } | null = await response.json().catch(() => null)
  if (answer?.errors?.[0]) throw toApiError(answer.errors[0], response.status)
  if (answer?.data) return answer.data
  throw toApiError({ message: `The server answered with HTTP ${response.status}.` }, response.status)
}

function toApiError({ message, extensions = {} }: GraphqlError, status = 0): ApiError {
  const code = status === 401 ? 'UNAUTHENTICATED' : typeof extensions.code === 'string' ? extensions.code : 'UNKNOWN'
  if (code === 'UNAUTHENTICATED') isSignedOut.value = true
  return new ApiError(code, message, extensions)
}

/** The name of the signed-in caller; null without a session. */
export const signedInAs = signal<string | null>(null)

/** Runs once, when the page opens. */
export async function findSession(): Promise<void> {
  const response = await fetch(address('session')).catch(() => null)
  if (response?.status === 401) isSignedOut.value = true
  const session: { name: string; isSession: boolean } | null = response?.ok ? await response.json() : null
  signedInAs.value = session?.isSession ? session.name : null
}

export async function signOut(): Promise<void> {
  await fetch(address('session'), { method: 'DELETE' }).catch(() => null)
  location.reload()
}

/** The server sets an HttpOnly cookie, which the browser sends from now on. */
export async function signIn(credential: string): Promise<void> {
  const response = await fetch(address('session'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ credential }),
  }).catch(() => {
    throw new ApiError('UNREACHABLE', "Can't reach the server. Try again.")
  })
  if (!response.ok) {
    const problem: { detail?: string } | null = await response.json().catch(() => null)
    throw new ApiError('UNAUTHENTICATED', problem?.detail ?? 'The server does not accept this key or token.')
  }
  // A reload restarts everything, including the WebSocket connection.
  location.reload()
}

/** Interval of pings, in milliseconds. */
const keepAlive = 10_000
const longestWait = 10_000

let certainAt = Date.now()
let overdue: ReturnType<typeof setTimeout> | undefined
let tryNow = (): void => undefined

const client = createClient({
  url: () => address('graphql').href.replace(/^http/, 'ws'),
  // Connects without a subscription too: the page shows whether the server is reachable.
  lazy: false,
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: () => true,
  keepAlive,
  retryWait: (tries) => waitBeforeTrying(Math.min(250 * 2 ** tries, longestWait) * (0.5 + Math.random() / 2)),
  on: {
    connected() {
      certainAt = Date.now()
      if (isLost.value) connections.value += 1
      connection.value = { state: 'live' }
    },
    message() {
      certainAt = Date.now()
    },
    ping(isReceived) {
      // A peer that vanishes without closing is found by its missing pong.
      if (!isReceived) overdue = setTimeout(() => client.terminate(), keepAlive / 2)
    },
    pong(isReceived) {
      if (isReceived) clearTimeout(overdue)
    },
    closed(event) {
      clearTimeout(overdue)
      if ([4401, 4403].includes((event as CloseEvent).code)) isSignedOut.value = true
      lose()
    },
  },
})

function lose(): void {
  const { value } = connection
  connection.value = { state: 'lost', since: value.state === 'lost' ? value.since : certainAt, nextTry: null }
}

function waitBeforeTrying(time: number): Promise<void> {
  lose()
  if (connection.value.state === 'lost') connection.value = { ...connection.value, nextTry: Date.now() + time }
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time)
    tryNow = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

/** Retries at once. */
export function reconnect(): void {
  tryNow()
}

// The network is back, or the tab is visible again: retry at once.
addEventListener('online', reconnect)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) reconnect()
})

export interface Follower<Answer> {
  readonly next: (answer: Answer) => void
  /** Derives the variables to resume with from the latest answer. Without it each connection starts over, as state streams do. */
  readonly resume?: (answer: Answer) => Readonly<Record<string, unknown>>
  readonly failed?: (error: ApiError) => void
}

/** Calls `next` with each answer, and reconnects when the connection is lost. The returned function unsubscribes. */
export function follow<Answer, Variables>(
  subscription: Document<Answer, Variables>,
  variables: Variables,
  { next, resume, failed }: Follower<Answer>,
): () => void {
  // graphql-ws sends this same object on each reconnect: writing the cursor into it makes the subscription resume there.
  const payload = { query: String(subscription), variables: { ...variables } as Record<string, unknown> }
  let leave = (): void => undefined
  let timer: ReturnType<typeof setTimeout>
  let isLeft = false

  function begin(): void {
    leave = client.subscribe<Answer>(payload, {
      next({ data, errors }) {
        if (errors?.[0]) return fail(toApiError(errors[0] as GraphqlError))
        if (!data) return
        if (resume) Object.assign(payload.variables, resume(data))
        next(data)
      },
      error: (error) => {
        if (Array.isArray(error)) fail(toApiError(error[0]))
        else again()
      },
      // The server ends a stream that overflows; it resumes after the last cursor.
      complete: again,
    })
  }
  function fail(error: ApiError): void {
    failed?.(error)
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
}
