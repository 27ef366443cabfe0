/** Structured logs, one JSON object a line. They never contain bodies, credentials, statements or parameters. */
import { randomUUID } from 'node:crypto'
import { type DestinationStream, type LogFn, pino } from 'pino'
import { escapeHidden } from '../../domain/look-alike.ts'
import { foreignText } from '../../domain/text.ts'
import { openLogLines } from './log-lines.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Log {
  readonly debug: LogFn
  readonly info: LogFn
  readonly warn: LogFn
  readonly error: LogFn
}

const secrets = ['authorization', 'cookie', '["set-cookie"]', 'password', 'token']
const hidden = secrets.flatMap((name) => {
  const member = name.startsWith('[') ? name : `.${name}`
  return [name, `*${member}`, `*.*${member}`, `*.*.*${member}`]
})

export function createLog({
  level,
  to = openLogLines(2),
}: {
  readonly level: LogLevel
  readonly to?: DestinationStream
}): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError, err: describeError },
      redact: { paths: hidden, censor: 'hidden' },
    },
    // A line is the same JSON document, and a terminal shows it as it is.
    { write: (line) => to.write(escapeHidden(line)) },
  )
}

/** Characters. A library's message may quote what another system has sent. */
const longestMessage = 1_000

const describeError = (error: unknown): object => describe(error, 5)

/** An error's code, frames and causes. A database's message may quote private values, and the message of a wrapper is the statement. */
function describe(error: unknown, depth: number): object {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, code, cause } = error as Error & { code?: unknown }
  const isWrapper = 'query' in error && 'params' in error
  const isSql = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
  const message = isWrapper ? 'a statement failed' : isSql ? error.message.replaceAll(/"[^"]*"/g, '"…"') : error.message
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: foreignText(name),
    ...(typeof code === 'string' ? { code: foreignText(code) } : {}),
    message: foreignText(message, longestMessage),
    frames: frames.map((frame) => frame.trim()),
    ...(cause instanceof Error && depth > 0 ? { cause: describe(cause, depth - 1) } : {}),
  }
}

/** The client's request id if it is harmless, otherwise a new one. */
export function createRequestIds(): (given: unknown) => string {
  const run = randomUUID()
  let count = 0
  return (given) => {
    if (typeof given === 'string' && /^[\w./:-]{1,128}$/.test(given)) return given
    count += 1
    return `${run}-${count.toString(36)}`
  }
}
