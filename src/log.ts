/** Structured logs on stderr, one JSON object a line. Bodies, credentials and SQL parameters are never given to it. */
import { destination, pino } from 'pino'
import type { LogLevel } from './config.ts'

export interface Log {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

export function createLog(level: LogLevel): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['*.authorization', '*.cookie', '*.password', '*.token'],
    },
    destination({ fd: 2, sync: false }),
  )
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** What an error may say in the log: never the statement that failed, its parameters may be anybody's. */
export function errorFacts(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error }
  const { name, code, cause } = error as Error & { code?: unknown }
  const isSql = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
  return {
    name,
    ...(code === undefined ? {} : { code }),
    message: error.message,
    ...(isSql ? {} : { stack: error.stack }),
    ...(cause instanceof Error ? { cause: errorFacts(cause) } : {}),
  }
}
