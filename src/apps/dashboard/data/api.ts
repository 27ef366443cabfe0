/**
 * The page's client of the API, with one connection for all its subscriptions, and its session:
 *
 *   connecting ── opened ──▸ live ── closed, or silent ──▸ lost ── retried with backoff ──▸ live
 */
import { computed, signal } from '@preact/signals'
import { ApiError, connect } from '../../client/client.ts'
import { isCloseEvent } from '../../client/errors.ts'
import { readJson } from '../../client/request.ts'
import { webSocket } from '../../client/websocket.ts'
import type { Document } from './graphql.ts'
import { clock, setClock, tick } from './time.ts'

type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /**
   * `since`: when the last message arrived, so the age of what is shown. Null: nothing has arrived yet. `isBlocked`: requests are answered all the
   * same, so a proxy or the server refuses the WebSocket.
   */
  | {
      readonly state: 'lost'
      readonly since: number | null
      readonly nextTry: number | null
      readonly isBlocked: boolean
    }

export const connection = signal<Connection>({ state: 'connecting' })
/** Number of reconnects: after each one, earlier answers may be outdated. */
export const connections = signal(0)
/** The server requires a credential. */
export const isSignedOut = signal(false)
const isLost = computed(() => connection.value.state === 'lost')

/** Bytes of an answer about a session. */
const largestSession = 1 << 20
/** Null: it is no JSON, or too long. */
// biome-ignore lint/suspicious/noExplicitAny: what the server answers there.
const readSession = (response: Response): Promise<any> => readJson(response, largestSession).catch(() => null)

const address = (path: string): string => new URL(`../${path}`, import.meta.url).href

/** Throws an ApiError. */
export function ask<Answer, Variables>(
  query: Document<Answer, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Answer> {
  return client.query<Answer>(String(query), variables as Variables & object, { signal }).then(
    (answer) => {
      certainAt ??= clock()
      return answer
    },
    (error: unknown) => {
      throw noteError(error)
    },
  )
}

function noteError<Failure>(error: Failure): Failure {
  if (error instanceof ApiError && (error.status === 401 || error.code === 'UNAUTHENTICATED')) isSignedOut.value = true
  return error
}

interface Session {
  readonly name: string
  readonly roles: readonly string[]
  /** The part of the fleet that the caller can see. Empty: the whole fleet. */
  readonly scopes: readonly string[]
  /** The caller has signed in on this page. */
  readonly isSession: boolean
  /** Absent: with a key or a token. */
  readonly signedInWith?: 'oidc'
  /** The methods of API_AUTH and DEVICE_AUTH: `open` requires no credential. */
  readonly apiAuth: readonly string[]
  readonly deviceAuth: readonly string[]
  /** How the command lines of the server start. */
  readonly commands: { readonly rollcall: string; readonly simulate: string }
}

/** Null: not known yet, or signed out. */
export const session = signal<Session | null>(null)

/** With whom persons sign in. */
interface SignInOffer {
  readonly name: string
  /** Whether keys and tokens are accepted too. */
  readonly takesKeys: boolean
}

/** Undefined: not known yet. Null: only keys and tokens are accepted. */
export const signInOffer = signal<SignInOffer | null | undefined>(undefined)

/** Runs when the page opens, and after each reconnect. */
export async function findSession(): Promise<void> {
  const began = performance.now()
  const response = await fetch(address('session'), { cache: 'no-store' }).catch(() => null)
  if (response) setClock(response.headers.get('date'), performance.now() - began)
  const body = response && (await readSession(response))
  if (response?.status === 401) {
    signInOffer.value = body?.signIn ?? null
    isSignedOut.value = true
  }
  if (response) session.value = response.ok ? body : null
}

/** The server has ended the connection: the session is over, or its rights have changed, and the page shows more than it may. */
async function checkSession(): Promise<void> {
  const before = JSON.stringify(session.value)
  await findSession()
  if (!isSignedOut.value && before !== 'null' && JSON.stringify(session.value) !== before) location.reload()
}

export async function signOut(): Promise<void> {
  const isOidc = session.value?.signedInWith === 'oidc'
  const [path, method] = isOidc ? ['session/oidc/logout', 'POST'] : ['session', 'DELETE']
  const response = await fetch(address(path), { method }).catch(() => null)
  const answer: { location?: string | null } | null = isOidc && response ? await readSession(response) : null
  if (answer?.location) location.assign(answer.location)
  else location.reload()
}

/** The address that leads to the issuer and back to this page. */
export function signInAddress(): string {
  const { pathname, search, hash } = location
  return `${address('session/oidc/login')}?returnTo=${encodeURIComponent(pathname + search + hash)}`
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
    const problem: { detail?: string } | null = await readSession(response)
    throw new ApiError('UNAUTHENTICATED', problem?.detail ?? 'The server does not accept this key or token.')
  }
  // A reload restarts everything, including the WebSocket connection.
  location.reload()
}

let certainAt: number | null = null
/** Connections that ended or could not be opened, one after the other. A server that starts again answers before the page reconnects. */
let failures = 0
const manyFailures = 3

const client = connect({
  url: address('graphql'),
  transport: webSocket({
    on: {
      connected() {
        if (isLost.value) connections.value += 1
        failures = 0
        connection.value = { state: 'live' }
      },
      message() {
        certainAt = clock()
      },
      closed(event) {
        if (isCloseEvent(event) && [4401, 4403].includes(event.code)) void checkSession()
        lose(null)
        failures += 1
        if (failures >= manyFailures) void findBlocked()
      },
    },
  }),
  retryAt: lose,
})

function lose(nextTry: number | null): void {
  const { value } = connection
  const { since, isBlocked } = value.state === 'lost' ? value : { since: null, isBlocked: false }
  // The client names the time of the browser.
  const next = nextTry === null ? null : nextTry - Date.now() + clock()
  connection.value = { state: 'lost', since: since ?? certainAt, nextTry: next, isBlocked }
}

async function findBlocked(): Promise<void> {
  const response = await fetch(address('session')).catch(() => null)
  // Otherwise a body without end would be received.
  response?.body?.cancel().catch(() => undefined)
  const isBlocked = response !== null && (response.ok || response.status === 401)
  if (connection.value.state === 'lost') connection.value = { ...connection.value, isBlocked }
}

export const { reconnect } = client

// The network is back, or the tab is visible again, perhaps after hours: retry at once.
addEventListener('online', reconnect)
document.addEventListener('visibilitychange', () => {
  tick()
  if (!document.hidden) reconnect()
})

/** Milliseconds after which a subscription that the server refused begins again. */
const refusedInterval = 3_000

/** Calls `next` with each answer, across lost connections. The returned function unsubscribes. */
export function follow<Answer, Variables>(
  subscription: Document<Answer, Variables>,
  variables: Variables,
  next: (answer: Answer) => void,
): () => void {
  const left = new AbortController()
  const { signal } = left
  let timer: ReturnType<typeof setTimeout>
  let resumed = variables as Variables & object
  async function read(): Promise<void> {
    for await (const { data, cursor } of client.watch<Answer>(String(subscription), { ...resumed }, { signal })) {
      if (signal.aborted) return
      if (cursor !== null) resumed = { ...resumed, after: cursor }
      next(data)
    }
  }
  const begin = (): Promise<void> =>
    read().catch((error: unknown) => {
      if (noteError(error) instanceof ApiError) timer = setTimeout(begin, refusedInterval)
      else reportError(error)
    })
  void begin()
  return () => {
    clearTimeout(timer)
    left.abort()
  }
}
