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
import { createAnswers } from './answers.ts'
import { ConnectionRefusal, isOutdatedPlan, lost, shared } from './failure.ts'
import { isKept } from './kept-plan.ts'
import { createOpening } from './target/opening.ts'
import { isOfAnotherSession, isSame, type Mark, markText } from './target/session.ts'
import type { Target } from './target/target.ts'
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
  /** Rejects, and is lost, if a pooler has given its session to another client. Without a pooler it asks nothing. */
  check(): Promise<void>
  /** Ends the running statement, on the server too. The connection is lost afterwards: a late cancellation must not end another statement. */
  cancel(): void
  /** Calls `notify` when the connection is lost, immediately if it is already lost. */
  onLost(notify: () => void): void
  close(): Promise<void>
}

export type Notified = (payload: string, channel: string) => void

export interface ConnectionOptions {
  readonly target: Target
  /** Of PostgreSQL's list of sessions. */
  readonly applicationName?: string
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

/** Milliseconds until the first statement of a new connection is answered. A pooler without a free connection lets it wait. */
const slowestStart = 10_000

/**
 * Different statements that a connection may prepare. Each combination of filters is a text of its own, so callers choose the texts. The server and
 * postgres.js keep a prepared statement until the connection ends. To remove single statements was rejected: postgres.js cannot forget one. To
 * prepare only some was rejected too: rare statements that come first would keep their places.
 */
export const mostStatements = 500

let opened = 0

/** The first statement connects. */
export function openConnection(options: ConnectionOptions): Connection {
  const {
    target,
    applicationName,
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
  let listeners: (() => void)[] = []
  let last: Promise<unknown> = Promise.resolve()
  const prepared = new Set<string>()
  const statements = createAnswers(isBounded, cancel)
  const session = createOpening({
    target,
    settings,
    silence,
    patience: Math.min(timeout / 2, slowestStart),
    types: statements.types,
    closed: lose,
    ...(applicationName && { applicationName }),
    ...(notified && { notified }),
  })

  function lose(): void {
    if (isLost) return
    isLost = true
    for (const notify of listeners.splice(0)) notify()
    session.drop()
  }

  function loseShared(): Error {
    target.isDoubted = true
    lose()
    return shared()
  }

  function startDoubting(): void {
    doubting?.end()
    doubting = isWorking ? createTimeout(silence, () => void doubt(isWorking)) : null
  }

  /** Callers learn of a dead connection now, and not after the time-out of the slowest statement. */
  async function doubt(ask: NonNullable<typeof isWorking>): Promise<void> {
    const before = answers
    // The connection is not established yet, and connecting has its own time-out.
    const backend = session.current()?.backend
    if (backend === undefined) return
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
      if (session.current()?.isPooled && isOfAnotherSession(error)) throw loseShared()
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
    const { client } = session.current() ?? (await session.whenOpen())
    return statements.read<T>(client, { text, parameters, prepare })
  }

  function cancel(): void {
    if (isLost) return
    const mustStop = running > 0 && session.current()?.backend
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
        const { client } = session.current() ?? (await session.whenOpen())
        const results = (await client.unsafe(text)) as unknown as Result | Result[]
        // postgres.js returns the result of a single statement itself.
        const answer = 'state' in results ? results : results.at(-1)
        return answer ?? []
      }),
    async check() {
      const own = session.current() ?? (await session.whenOpen())
      if (!own.isPooled) return
      const [found] = await sendInTurn(async () => own.client.unsafe<Mark[]>(markText))
      if (!found || !isSame(found, own)) throw loseShared()
    },
    cancel,
    onLost(notify) {
      if (isLost) notify()
      else listeners.push(notify)
    },
    async close() {
      listeners = []
      // A statement that waits for the session may still be executed.
      if (running === 0 && session.current() === null) session.drop()
      await session.close(5)
      isLost = true
    },
  }
}

function nothing(): undefined {}

/** Whether the error is an answer of a server. */
function isFromServer(error: unknown): boolean {
  return (
    error instanceof postgres.PostgresError ||
    (error instanceof ConnectionRefusal && error.cause instanceof postgres.PostgresError)
  )
}

/** Whether the server answered and continues. Otherwise the outcome of the statement is unknown. */
function isAnswer(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity !== 'FATAL' && error.severity !== 'PANIC'
}
