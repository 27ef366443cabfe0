import type { Database } from '../store/database.ts'
import { answer, type Exchange } from './exchange.ts'

export interface HealthDeps {
  readonly database: Database
  readonly isClosing: () => boolean
}

/** The process answers: nothing more. */
export async function tellAlive(exchange: Exchange): Promise<void> {
  answer(exchange, 200, 'application/json', '{"status":"alive"}')
}

/** Whether to send it requests: the database answers (it was migrated at the start), and the server is not about to end. */
export async function tellReady({ database, isClosing }: HealthDeps, exchange: Exchange): Promise<void> {
  const problem = isClosing()
    ? 'the server is shutting down'
    : await database.ping().then(
        () => null,
        () => 'the database cannot be reached',
      )
  const body = problem === null ? { status: 'ready' } : { status: 'not ready', reason: problem }
  answer(exchange, problem === null ? 200 : 503, 'application/json', JSON.stringify(body))
}
