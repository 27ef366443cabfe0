/**
 * One connection to PostgreSQL. postgres.js reconnects by itself, but a transaction or a snapshot on the old connection would then write to a
 * closed socket, or run in another caller's session. So a lost connection stays lost, everything on it fails, and a caller that needs a
 * connection opens another.
 *
 * The writer's statements go one at a time: one that waits inside postgres.js would be sent on the next connection, outside its
 * transaction; unless each is a transaction, and nothing when done too late (append). A reader's may follow each other unanswered, in one packet: what was answered on another connection is thrown away.
 */
import postgres from 'postgres'
import { parsers, storableParameters } from './column-parsers.ts'
import { isOutdatedPlan, lost } from './failure.ts'
import { createTimeout, type Timeout } from './timeout.ts'

export interface Connection {
  /** No two of a process have the same. */
  readonly number: number
  readonly isLost: boolean
  /** Prepared, with parameters. */
  run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]>
  /** The same for a statement that is its own transaction: sent without waiting for unanswered statements before it. */
  append<T extends object>(text: string, parameters: readonly unknown[]): Promise<T[]>
  /** Unprepared text of several statements: the rows of the last one. */
  runAll<T extends object>(text: string): Promise<T[]>
  /** Ends the running statement, on the server too. The connection is lost afterwards: a late cancellation must not end another statement. */
  cancel(): void
  /** Calls `tell` when the connection is lost, immediately if it is lost already. */
  onLost(tell: () => void): void
  close(): Promise<void>
}

export type Notified = (payload: string, channel: string) => void

export interface ConnectionOptions {
  readonly url: string
  readonly settings: Readonly<Record<string, string | number>>
  /** Milliseconds. A server that does not answer for so long is given up: the network may not say that it is gone. */
  readonly timeout: number
  /** Sends statements without waiting for the answers to earlier ones. For reading only. */
  readonly isPipelined?: boolean
  /** Asks the server, on another connection, whether the process of that number still works. */
  readonly isWorking?: (process: number) => Promise<boolean>
  /** Asks the server, on another connection, to cancel what the process of that number does. */
  readonly cancelProcess?: (process: number) => void
  readonly notified?: Notified
}

/**
 * Milliseconds. Of a connection that is half open (a firewall forgot it, the other machine is gone) nothing is heard, and a slow statement
 * looks the same: after so long without an answer the server is asked on another connection, and has as long to answer.
 */
const doubtfulAfter = 3_000

const types = Object.fromEntries(
  Object.entries(parsers).map(([oid, parse]) => [
    `t${oid}`,
    { to: Number(oid), from: [Number(oid)], parse, serialize: String },
  ]),
)

let opened = 0

/** The first statement connects. */
export function openConnection(options: ConnectionOptions): Connection {
  const { url, settings, timeout, isPipelined = false, isWorking, cancelProcess, notified } = options
  opened += 1
  const number = opened
  let isLost = false
  let running = 0
  let waiting: Timeout | null = null
  let doubting: Timeout | null = null
  let answers = 0
  /** The server's, as its answers say. */
  let backend: number | null = null
  let listeners: (() => void)[] = []
  let last: Promise<unknown> = Promise.resolve()

  const client = postgres(url, {
    max: 1,
    types,
    connection: { application_name: 'rollcall', TimeZone: 'UTC', ...settings },
    connect_timeout: 3,
    keep_alive: 5,
    // It would end a transaction that is just idle.
    max_lifetime: null,
    // postgres.js does not await that statement: a connection lost meanwhile would end the process.
    fetch_types: false,
    onnotice: () => {},
    onclose: lose,
    ...(notified ? { onnotify: (channel: string, payload: string) => notified(payload, channel) } : {}),
  })

  function lose(): void {
    if (isLost) return
    isLost = true
    for (const tell of listeners.splice(0)) tell()
    client.end({ timeout: 0 }).catch(() => undefined)
  }

  function startDoubting(): void {
    doubting?.end()
    doubting = isWorking ? createTimeout(doubtfulAfter, () => void doubt(isWorking)) : null
  }

  /** Callers learn of a dead connection now, and not when the slowest statement would have timed out. */
  async function doubt(ask: NonNullable<typeof isWorking>): Promise<void> {
    const before = answers
    // It has not been connected yet: that has a limit of its own.
    if (backend === null) return
    const { promise: silence, resolve } = Promise.withResolvers<boolean>()
    const timeout = createTimeout(doubtfulAfter, () => resolve(false))
    // A server that answers is reachable, even if it refuses the connection.
    const isAtWork = await Promise.race([silence, ask(backend).catch(isFromServer)]).finally(timeout.end)
    if (isLost || running === 0 || answers !== before) return
    if (isAtWork) startDoubting()
    else lose()
  }

  /** The server is waited for from when a statement is sent, or the one before it is answered. */
  async function send<T>(ask: () => Promise<T>): Promise<T> {
    if (isLost) throw lost()
    running += 1
    if (running === 1) {
      waiting = createTimeout(timeout, lose)
      startDoubting()
    }
    try {
      const answer = await ask()
      if (isLost) throw lost()
      return answer
    } catch (error) {
      // Every other statement that it has prepared would fail like this one: a new connection has none.
      if (!isAnswer(error) || isOutdatedPlan(error)) lose()
      throw error
    } finally {
      running -= 1
      answers += 1
      if (running > 0) {
        waiting?.renew()
        startDoubting()
      } else {
        waiting?.end()
        doubting?.end()
      }
    }
  }

  function sendInTurn<T>(ask: () => Promise<T>): Promise<T> {
    if (isPipelined) return send(ask)
    const result = last.then(() => send(ask))
    last = result.catch(() => undefined)
    return result
  }

  async function ask<T extends object>(text: string, parameters: readonly unknown[]): Promise<T[]> {
    const query = client.unsafe(text, storableParameters(parameters) as postgres.ParameterOrJSON<never>[], {
      prepare: true,
    })
    const rows = await query.values()
    backend ??= rows.state.pid
    const objects = asObjects<T>(rows.columns, rows)
    // postgres.js keeps them until the next full collection.
    rows.length = 0
    return objects
  }

  return {
    number,
    get isLost() {
      return isLost
    },
    run: <T extends object>(text: string, parameters: readonly unknown[] = []) =>
      sendInTurn(() => ask<T>(text, parameters)),
    append<T extends object>(text: string, parameters: readonly unknown[]) {
      const result = send(() => ask<T>(text, parameters))
      last = Promise.allSettled([last, result])
      return result
    },
    runAll: <T extends object>(text: string) =>
      sendInTurn(async () => {
        const results = (await client.unsafe(text)) as unknown as (T[] & Pick<postgres.RowList<T[]>, 'state'>)[]
        const answer = results.at(-1)
        backend ??= answer?.state.pid ?? null
        return answer ?? []
      }),
    cancel() {
      if (isLost) return
      const mustStop = running > 0 && backend
      lose()
      if (mustStop) cancelProcess?.(mustStop)
    },
    onLost(tell) {
      if (isLost) tell()
      else listeners.push(tell)
    },
    async close() {
      listeners = []
      await client.end({ timeout: 5 })
      isLost = true
    },
  }
}

type ToObject = (values: readonly unknown[]) => object

/** Of a prepared statement: its columns are described once. */
const made = new WeakMap<readonly { readonly name: string }[], ToObject>()

/**
 * Rows of one shape. What postgres.js makes of a row with more than a dozen columns is a hash table, field by field: larger, and slower to
 * make and to read.
 */
function asObjects<T>(columns: readonly { readonly name: string }[], rows: readonly (readonly unknown[])[]): T[] {
  if (rows.length === 0) return []
  let toObject = made.get(columns)
  if (!toObject) {
    const fields = columns.map(({ name }, index) => `${JSON.stringify(name)}: values[${index}]`)
    toObject = new Function('values', `return { ${fields.join(', ')} }`) as ToObject
    made.set(columns, toObject)
  }
  return rows.map(toObject) as T[]
}

/** Whether a server said so, whatever it said. */
function isFromServer(error: unknown): boolean {
  return error instanceof postgres.PostgresError
}

/** Whether the server answered and goes on: anything else leaves open what became of the statement. */
function isAnswer(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity !== 'FATAL' && error.severity !== 'PANIC'
}
