import type { Writer } from '../ingest/writer.ts'
import { describeOutage, isTransient } from '../store/connection/failure.ts'
import { missingMigrations } from '../store/connection/migrate.ts'
import { createTimeout } from '../store/connection/timeout.ts'
import { isReadOnly, probeWriting } from '../store/connection/writable.ts'
import type { Database } from '../store/database.ts'
import { answer, type Exchange } from './exchange.ts'

export interface HealthDeps {
  readonly database: Database
  readonly writer: Pick<Writer, 'failure'>
  readonly isClosing: () => boolean
}

/** The process answers: nothing more. */
export async function sendLiveness(exchange: Exchange): Promise<void> {
  answer(exchange, 200, 'application/json', '{"status":"alive"}')
}

/** Milliseconds; the embedded database is asked in turn, so a busy one takes a moment. */
const checkTimeout = 5_000

/** Whether to send it requests: the database has our tables and takes what is written, and the server is not about to end. */
export function createReadiness({ database, writer, isClosing }: HealthDeps): (exchange: Exchange) => Promise<void> {
  let looking: Promise<string | null> | null = null
  return async (exchange) => {
    // Anybody may ask: however many do, the database is asked once at a time.
    looking ??= within(checkTimeout, findProblem(database, writer)).finally(() => {
      looking = null
    })
    const problem = isClosing() ? 'the server is shutting down' : await looking
    const body = problem === null ? { status: 'ready' } : { status: 'not ready', reason: problem }
    answer(exchange, problem === null ? 200 : 503, 'application/json', JSON.stringify(body))
  }
}

async function findProblem(database: Database, { failure }: HealthDeps['writer']): Promise<string | null> {
  try {
    const missing = await missingMigrations(database.session)
    if (missing.length > 0) return `the database lacks the migrations ${missing.join(', ')}`
    if (await isReadOnly(database)) return 'the database is read-only'
    // A full disk is noticed by writing only. Every probe writing something would cost more than it tells.
    if (failure) await probeWriting(database)
    return null
  } catch (error) {
    return isTransient(error) ? describeOutage(error) : 'the database lacks our tables'
  }
}

async function within(time: number, work: Promise<string | null>): Promise<string | null> {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timeout = createTimeout(time, () => resolve('the database does not answer'))
  return Promise.race([work, late]).finally(timeout.end)
}
