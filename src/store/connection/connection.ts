/**
 * One connection to PostgreSQL. postgres.js reconnects by itself, but a transaction or a snapshot on the old connection would then write to a
 * closed socket, or run in another caller's session. So a lost connection stays lost, everything on it fails, and a caller that needs a
 * connection opens another.
 *
 * The writer sends one statement at a time: postgres.js would send a waiting statement on the next connection, outside its transaction.
 * `append` is the exception: its statement is a transaction itself, and harmless when late. A reader may send several statements before the
 * first answer, in one packet. Answers on another connection are dropped.
 */
import postgres from 'postgres'
import { DomainError } from '../../domain/errors.ts'
import { storableParameters } from './column-parsers.ts'
import { isOutdatedPlan, lost } from './failure.ts'
import { isKept } from './kept-plan.ts'
import { countingParsers, mostCharacters, noteCharacters, tooMuchText } from './reading.ts'
import { asObjects, type Row } from './row-objects.ts'
import { answerWithin, createTimeout, type Timeout } from './timeout.ts'

export interface Connection {
  /** Unique within the process. */
  readonly number: number
  readonly isLost: boolean
  /** Whether it has prepared so many statements that another connection must replace it. */
  readonly isWorn: boolean
  /** Prepared, with parameters. */
  run<T extends object>(text: string, parameters?: readonly unknown[]): Promise<T[]>
  /** The same for a statement that is its own transaction: sent without waiting for unanswered statements before it. */
  append<T extends object>(text: string, parameters: readonly unknown[]): Promise<T[]>
  /** Executes an unprepared text of several statements, and returns the rows of the last one. */
  runAll<T extends object>(text: string): Promise<T[]>
  /** Ends the running statement, on the server too. The connection is lost afterwards: a late cancellation must not end another statement. */
  cancel(): void
  /** Calls `notify` when the connection is lost, immediately if it is already lost. */
  onLost(notify: () => void): void
  close(): Promise<void>
}

export type Notified = (payload: string, channel: string) => void

export interface ConnectionOptions {
  readonly url: string
  readonly settings: Readonly<Record<string, string | number>>
  /** Milliseconds. The connection is dropped if the server does not answer for so long: the network may not report a lost server. */
  readonly timeout: number
  /** Milliseconds; see `silenceLimit`. */
  readonly silence?: number
  /** Sends statements without waiting for the answers to earlier ones. For reading only. */
  readonly isPipelined?: boolean
  /** Refuses answers of more than `mostCharacters` (reading.ts). The writer's own statements read what it has to change. */
  readonly isBounded?: boolean
  /** Asks the server, on another connection, whether the process with that id is still working. */
  readonly isWorking?: (process: number) => Promise<boolean>
  /** Asks the server, on another connection, to cancel the statement of the process with that id. */
  readonly cancelProcess?: (process: number) => void
  /** The error of a statement, or the one that explains it. */
  readonly explain?: (error: unknown) => Promise<unknown>
  readonly notified?: Notified
}

/**
 * Milliseconds. A half-open connection (a firewall dropped it, the other machine is down) looks the same as a slow statement. After so long
 * without an answer, another connection asks the server, which has the same time to answer. A new connection has the same time, too.
 */
export const silenceLimit = 3_000

/**
 * Different statements that a connection may prepare. Each combination of filters is a text of its own, so callers choose the texts. The server and
 * postgres.js keep a prepared statement until the connection ends. To remove single statements was rejected: postgres.js cannot forget one. To
 * prepare only some was rejected too: rare statements that come first would keep their places.
 */
export const mostStatements = 500

/** The server is not stopped at once, because to cancel a statement costs the connection, which may be that of a shared snapshot. */
const mostIgnored = 4 * mostCharacters

let opened = 0

/** The first statement connects. */
export function openConnection(options: ConnectionOptions): Connection {
  const {
    url,
    settings,
    timeout,
    silence = silenceLimit,
    isPipelined = false,
    isBounded = false,
    isWorking,
    cancelProcess,
    explain = async (error) => error,
    notified,
  } = options
  opened += 1
  const number = opened
  let isLost = false
  let running = 0
  let waiting: Timeout | null = null
  let doubting: Timeout | null = null
  let answers = 0
  /** The id of the server's process, from its answers. */
  let backend: number | null = null
  let listeners: (() => void)[] = []
  let last: Promise<unknown> = Promise.resolve()
  const prepared = new Set<string>()
  /** Of the row that is being parsed. */
  let characters = 0

  const counting = countingParsers((read) => {
    characters += read
  })
  const types = Object.fromEntries(
    Object.entries(counting).map(([oid, parse]) => [
      `t${oid}`,
      { to: Number(oid), from: [Number(oid)], parse, serialize: String },
    ]),
  )
  const client = postgres(url, {
    max: 1,
    types,
    // The types are in the schema public, whatever the path of the role or of the database is.
    connection: { application_name: 'rollcall', TimeZone: 'UTC', DateStyle: 'ISO', search_path: 'public', ...settings },
    connect_timeout: silence / 1_000,
    keep_alive: 5,
    // A limited lifetime would end an idle transaction.
    max_lifetime: null,
    // postgres.js does not await that statement, so a connection lost meanwhile would end the process.
    fetch_types: false,
    onnotice: () => {},
    onclose: lose,
    ...(notified ? { onnotify: (channel: string, payload: string) => notified(payload, channel) } : {}),
  })

  function lose(): void {
    if (isLost) return
    isLost = true
    for (const notify of listeners.splice(0)) notify()
    client.end({ timeout: 0 }).catch(() => undefined)
  }

  function startDoubting(): void {
    doubting?.end()
    doubting = isWorking ? createTimeout(silence, () => void doubt(isWorking)) : null
  }

  /** Callers learn of a dead connection now, and not after the time-out of the slowest statement. */
  async function doubt(ask: NonNullable<typeof isWorking>): Promise<void> {
    const before = answers
    // The connection is not established yet, and connecting has its own time-out.
    if (backend === null) return
    // A server that answers is reachable, even if it refuses the connection.
    const isAtWork = await answerWithin(silence, ask(backend).catch(isFromServer), false)
    if (isLost || running === 0 || answers !== before) return
    if (isAtWork) startDoubting()
    else lose()
  }

  /** The time-out begins when a statement is sent, or when the statement before it is answered. */
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
      // Every other prepared statement of the connection would fail like this one. A new connection has none.
      if (!(isAnswer(error) || error instanceof DomainError) || isOutdatedPlan(error)) lose()
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
    last = result.then(nothing, nothing)
    return result
  }

  function explained<T>(answer: Promise<T>): Promise<T> {
    return answer.catch(async (error: unknown) => {
      throw await explain(error)
    })
  }

  async function ask<T extends object>(text: string, parameters: readonly unknown[]): Promise<T[]> {
    const prepare = !isPipelined || isKept(text, parameters)
    // postgres.js prepares none without parameters.
    if (prepare && parameters.length > 0) prepared.add(text)
    const query = client.unsafe<Row[]>(text, storableParameters(parameters) as postgres.ParameterOrJSON<never>[], {
      prepare,
    })
    const rows: Row[] = []
    let read = 0
    const most = isBounded ? mostCharacters : Number.POSITIVE_INFINITY
    const take = (row: Row): void => {
      read += characters
      characters = 0
      if (read <= most) rows.push(row)
      else rows.length = 0
      if (isBounded && read > mostIgnored) cancel()
    }
    try {
      // It returns the query itself.
      query.values()
      const { columns, state } = await query.forEach(take)
      if (read > most) throw tooMuchText()
      backend ??= state.pid
      const objects = asObjects<T>(columns, rows)
      noteCharacters(objects, read)
      return objects
    } catch (error) {
      throw read > most ? tooMuchText() : error
    } finally {
      rows.length = 0
      Object.assign(query, spent)
    }
  }

  function cancel(): void {
    if (isLost) return
    const mustStop = running > 0 && backend
    lose()
    if (mustStop) cancelProcess?.(mustStop)
  }

  return {
    number,
    get isLost() {
      return isLost
    },
    get isWorn() {
      return prepared.size >= mostStatements
    },
    run: <T extends object>(text: string, parameters: readonly unknown[] = []) =>
      explained(sendInTurn(() => ask<T>(text, parameters))),
    append<T extends object>(text: string, parameters: readonly unknown[]) {
      const result = send(() => ask<T>(text, parameters))
      // The promise has no value. Otherwise each would hold that of the promise before it, and all would stay in memory.
      last = Promise.allSettled([last, result]).then(nothing)
      return explained(result)
    },
    runAll: <T extends object>(text: string) =>
      sendInTurn(async () => {
        type Result = T[] & Pick<postgres.RowList<T[]>, 'state'>
        const results = (await client.unsafe(text)) as unknown as Result | Result[]
        // postgres.js returns the result of a single statement itself.
        const answer = 'state' in results ? results : results.at(-1)
        backend ??= answer?.state.pid ?? null
        return answer ?? []
      }),
    cancel,
    onLost(notify) {
      if (isLost) notify()
      else listeners.push(notify)
    },
    async close() {
      listeners = []
      await client.end({ timeout: 5 })
      isLost = true
    },
  }
}

/**
 * What an answered query of postgres.js no longer needs. V8 creates a function that is assigned to a property, like its `resolve`, among the old
 * objects. So the query, and all that it holds, would stay in memory until the next full garbage collection.
 */
const spent = { args: [], parameters: [], forEachFn: null }

function nothing(): void {}

/** Whether the error is an answer of a server. */
function isFromServer(error: unknown): boolean {
  return error instanceof postgres.PostgresError
}

/** Whether the server answered and continues. Otherwise the outcome of the statement is unknown. */
function isAnswer(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity !== 'FATAL' && error.severity !== 'PANIC'
}
