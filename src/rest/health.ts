import type { Database } from '../store/database.ts'
import { isTransient } from '../store/failure.ts'
import { missingMigrations } from '../store/migrate.ts'
import { answer, type Exchange } from './exchange.ts'

export interface HealthDeps {
  readonly database: Database
  readonly isClosing: () => boolean
}

/** The process answers: nothing more. */
export async function tellAlive(exchange: Exchange): Promise<void> {
  answer(exchange, 200, 'application/json', '{"status":"alive"}')
}

/** Milliseconds; the embedded database is asked in turn, so a busy one takes a moment. */
const patience = 5_000

/** Whether to send it requests: the database answers and has our tables, and the server is not about to end. */
export async function tellReady({ database, isClosing }: HealthDeps, exchange: Exchange): Promise<void> {
  const problem = isClosing() ? 'the server is shutting down' : await within(patience, findMissing(database))
  const body = problem === null ? { status: 'ready' } : { status: 'not ready', reason: problem }
  answer(exchange, problem === null ? 200 : 503, 'application/json', JSON.stringify(body))
}

async function findMissing(database: Database): Promise<string | null> {
  try {
    const missing = await missingMigrations(database.session)
    return missing.length === 0 ? null : `the database lacks the migrations ${missing.join(', ')}`
  } catch (error) {
    return isTransient(error) ? 'the database cannot be reached' : 'the database lacks our tables'
  }
}

async function within(time: number, work: Promise<string | null>): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('the database does not answer'), time)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
