/**
 * Opens a session on one of the addresses. Settings are made by a statement and not at start-up, because a pooler refuses most of those. That statement also
 * asks what the server is. So a new connection costs one more round trip, and a statement none.
 *
 * A server that is frozen takes a connection and says nothing. So the next address is tried after a moment, and the first that is usable wins.
 */
import postgres from 'postgres'
import { lost, StatementError } from '../failure.ts'
import { answerWithin, createTimeout } from '../timeout.ts'
import { dial, failure } from './dial.ts'
import { explainRefusal } from './refusal.ts'
import { beginText, requireSessions } from './session.ts'
import type { Target } from './target.ts'
import { type Address, type Login, nameOf } from './url.ts'

export interface SignInOptions {
  readonly target: Target
  readonly settings: Readonly<Record<string, string | number>>
  readonly applicationName?: string
  /** Milliseconds until the socket is connected, and again until the server has signed in. */
  readonly silence: number
  /** Milliseconds until the first statement is answered. A pooler that has no connection left lets it wait. */
  readonly patience: number
  readonly types?: Record<string, postgres.PostgresType>
  readonly notified?: (payload: string, channel: string) => void
  readonly signal: AbortSignal
}

export interface SignedIn {
  readonly client: postgres.Sql
  readonly address: Address
  /** The id of the server's process. */
  readonly backend: number
  /** Whether another program answers for the server. */
  readonly isPooled: boolean
  /** Of this session; see session.ts. */
  readonly mark: string
  /** Calls `notify` when it is closed, immediately if it is. */
  onClosed(notify: () => void): void
}

/** Milliseconds after which the next address is tried too. */
const impatientAfter = 300

/** The oldest version that has all that the statements use. */
const leastVersion = 15

export async function signIn(options: SignInOptions): Promise<SignedIn> {
  const { target, signal } = options
  const login = await target.login().catch((error: unknown) => {
    throw explainRefusal(target, [{ address: null, error }])
  })
  const addresses = target.inOrder(login.addresses)
  const over = new AbortController()
  const abort = (): void => over.abort(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const failed: { readonly address: Address; readonly error: unknown }[] = []
  const running = new Set<Promise<SignedIn | null>>()
  let winner: SignedIn | null = null
  const attempt = async (address: Address): Promise<SignedIn | null> => {
    try {
      const found = await signInTo(address, login, options, over.signal)
      // Of two that are usable, the first is taken.
      if (winner) void found.client.end({ timeout: 0 })
      winner ??= found
      return found
    } catch (error) {
      failed.push({ address, error })
      return null
    }
  }
  try {
    for (const address of addresses) {
      const one = attempt(address)
      running.add(one)
      void one.then(() => running.delete(one))
      const isLast = address === addresses.at(-1)
      // Whether it failed, or is slow: the next one is tried.
      if (!isLast) await answerWithin(impatientAfter, Promise.race(running), null)
      while (isLast && !winner && running.size > 0) await Promise.race(running)
      if (winner) return winner
    }
    signal.throwIfAborted()
    throw explainRefusal(target, failed)
  } finally {
    signal.removeEventListener('abort', abort)
    over.abort(lost())
  }
}

async function signInTo(
  address: Address,
  login: Login,
  options: SignInOptions,
  signal: AbortSignal,
): Promise<SignedIn> {
  const { target } = options
  const found = await openSession(address, login, options, signal)
  try {
    // A pooler makes up the id that cancels a statement, because the process may be another one later.
    if (found.isPooled && target.isDoubted) {
      const other = await openSession(address, login, options, signal)
      await requireSessions(found, other).finally(() => void other.client.end({ timeout: 0 }))
      target.isDoubted = false
    }
    return found
  } catch (error) {
    void found.client.end({ timeout: 0 })
    throw error
  }
}

/** What PostgreSQL lists as the name of each session. */
export function applicationOf(name: string, schema: string): string {
  return schema === 'public' ? name : `${name} ${schema}`
}

/** In a busy process, a timer would run before the answer is read. */
async function within<T>(time: number, signal: AbortSignal, work: (limited: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController()
  const timeout = createTimeout(time, () => own.abort(failure('ETIMEDOUT', 'no answer in time')))
  return work(AbortSignal.any([signal, own.signal])).finally(timeout.end)
}

interface Facts {
  readonly pid: number
  readonly isReadOnly: boolean
}

async function openSession(
  address: Address,
  login: Login,
  { target, settings, applicationName = 'rollcall', silence, patience, types, notified }: SignInOptions,
  signal: AbortSignal,
): Promise<SignedIn> {
  const password = await target.passwordFor(login, address)
  const socket = await within(silence, signal, (limited) => dial(address, login, limited))
  let version: string | undefined
  let isUsed = false
  let broken: Error | null = null
  socket.on('error', (error) => {
    broken = error
  })
  const closing = Promise.withResolvers<void>()
  const client = postgres({
    host: address.host,
    port: address.port,
    user: login.user,
    database: login.database,
    // A function, because postgres.js would look for an empty password in the environment.
    pass: () => password ?? '',
    ssl: false,
    max: 1,
    ...(types && { types }),
    connection: { application_name: applicationOf(applicationName, login.schema) },
    connect_timeout: silence / 1_000,
    // A limited lifetime would end an idle transaction.
    max_lifetime: null,
    // postgres.js does not await that statement, so a connection lost meanwhile would end the process.
    fetch_types: false,
    // It would reconnect, and send a waiting statement to a session without settings.
    socket: () => {
      if (isUsed) throw broken ?? failure('ECONNRESET', 'the server ended the connection')
      isUsed = true
      return socket
    },
    onnotice: () => {},
    onclose: () => closing.resolve(),
    onparameter: (name: string, value: string) => {
      if (name === 'server_version') version ??= value
    },
    ...(notified && { onnotify: (channel: string, payload: string) => notified(payload, channel) }),
  } as postgres.Options<Record<string, postgres.PostgresType>>)
  const end = (): void => void client.end({ timeout: 0 })
  const onClosed = (notify: () => void): void => void closing.promise.then(notify)
  signal.addEventListener('abort', end)
  const mark = Math.random().toString(36).slice(2)
  const wanted = { ...login.settings, TimeZone: 'UTC', DateStyle: 'ISO', search_path: login.schema, ...settings }
  try {
    if (signal.aborted) throw signal.reason
    const asked = client.unsafe<Facts[]>(beginText(wanted, mark)).then((rows) => rows)
    const answer = await answerWithin(patience, asked, null)
    signal.throwIfAborted()
    if (answer === null) throw failure('ERR_ROLLCALL_NO_STATEMENT', 'no statement was executed')
    const [facts] = answer
    if (!facts) throw lost()
    if (Number.parseInt(version ?? '', 10) < leastVersion)
      throw failure('ERR_ROLLCALL_VERSION', `it is PostgreSQL ${version}`)
    if (login.mustWrite && facts.isReadOnly) throw new StatementError(`${nameOf(address)} takes no writes`, '25006')
    return { client, address, backend: facts.pid, isPooled: answer.state.pid !== facts.pid, mark, onClosed }
  } catch (error) {
    end()
    throw error
  } finally {
    signal.removeEventListener('abort', end)
  }
}
