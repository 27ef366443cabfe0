/** Errors at the start of a program, in sentences for its operator. */

import { DomainError } from '../../domain/errors.ts'
import { ConfigError } from '../../platform/config-error.ts'
import { ConnectionRefusal } from '../../store/connection/failure.ts'
import type { StoreConfig } from '../../store/open.ts'
import { exitCodes, UsageError } from './arguments.ts'

/** One sentence for errors that the operator can correct, a stack for all others. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof DomainError || error instanceof UsageError) return error.message
  const { code, message, stack, cause } = error as NodeJS.ErrnoException
  return code === undefined && cause === undefined ? (stack ?? message) : message
}

/** Ends a program that works on the database with its exit code. */
export function conclude(program: Promise<number>, usage: string): void {
  program.then(
    (code) => {
      process.exitCode = code
    },
    (error: unknown) => {
      console.error(explain(error))
      if (error instanceof UsageError) console.error(`\n${usage}`)
      process.exitCode = error instanceof UsageError ? exitCodes.usage : exitCodes.failed
    },
  )
}

/** Adds the operation of the server, and the remedy, to an error of the system. */
export function withRemedy(what: string, remedy: string): (error: unknown) => never {
  return (cause) => {
    const { code, message } = cause as NodeJS.ErrnoException
    if (cause instanceof DomainError || code === undefined) throw cause
    throw new Error(`${what} (${message || code}): ${remedy}`, { cause })
  }
}

/** For a database that cannot be opened. The cause says whether it is unreachable, or refuses what the server needs. */
export function withStoreRemedy({ url, dataDir }: StoreConfig): (error: unknown) => never {
  if (url === null) return withRemedy(`the data directory ${dataDir} cannot be used`, 'set DATA_DIR to another one')
  const addRemedy = withRemedy('the database cannot be used', 'check DATABASE_URL and the rights of its user')
  return (error) => {
    if (error instanceof ConnectionRefusal) throw error
    return addRemedy(error)
  }
}
