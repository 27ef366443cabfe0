/** Parsing and exit codes shared by the command lines. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearest } from '../../domain/edit-distance.ts'
import { isBundled } from '../../platform/installation.ts'

/** What the user types to start a program, for its help: the installed command, or npm's script in a checkout. */
export function commandOf(program: 'rollcall' | 'serve' | 'simulate' | 'demo' | 'new-epoch'): string {
  if (isBundled) return program === 'rollcall' ? program : `rollcall ${program}`
  if (program === 'serve') return 'npm start --'
  return program === 'rollcall' ? 'npm run --silent rollcall --' : `npm run ${program} --`
}

/** The command line is invalid: exit code 64. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Accepts named options only, so that a mistyped argument is refused. Throws a UsageError. */
export function parseFlags<Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw usageErrorOf(error, options)
  }
}

/** From an error of parseArgs. What Node says of an unknown option explains how to pass it as an argument, and names no other option. */
export function usageErrorOf(error: unknown, options: ParseArgsOptionsConfig): UsageError {
  const { code, message } = error as NodeJS.ErrnoException
  const [, given] = /^Unknown option '(-[^']+)'/.exec(message) ?? []
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || given === undefined) return new UsageError(message)
  const meant = nearest(given.replace(/^-+/, ''), Object.keys(options))
  return new UsageError(`unknown option ${given}${meant === null ? '' : `: did you mean --${meant}?`}`)
}

/** Of --url, ROLLCALL_URL or this machine. Throws a UsageError. */
export function serverAddress(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const text = given ?? env.ROLLCALL_URL ?? 'http://127.0.0.1:4000'
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  // Messages name the address.
  if (url?.username || url?.password)
    throw new UsageError("the server's address must not contain a user or a password: use --token")
  // `localhost.` is localhost under another name, with a stored session of its own.
  if (!url || url.hostname.endsWith('.') || url.search || url.hash)
    throw new UsageError(
      `the server's address must be a URL such as http://127.0.0.1:4000, without a query or a dot at the end of the host, but is ${JSON.stringify(text)}`,
    )
  return text
}

/**
 * Of --token or ROLLCALL_TOKEN. Throws a UsageError for one that no header can have: the error of Node would quote it. The line break at the
 * end of a file is no part of it.
 */
export function bearerToken(given: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const token = given?.trim() ?? (env.ROLLCALL_TOKEN?.trim() || undefined)
  if (token === undefined || /^[\x21-\x7e]*$/.test(token)) return token
  throw new UsageError('the token must not contain spaces, line breaks or characters beyond ASCII')
}

/** Values of sysexits.h where it defines one. */
export const exitCodes = {
  reached: 0,
  failed: 1,
  timeout: 2,
  usage: 64,
  unavailable: 69,
  refused: 77,
  interrupted: 130,
} as const

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
/** The longest delay of Node's timers. */
const longest = 2 ** 31 - 1

/** Milliseconds of a text such as 90s, 2m or 1.5h; a bare number is seconds. */
export function parseDuration(name: string, text: string): number {
  const [, number = '', unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? []
  const value = Math.round(Number(number) * (units[unit] ?? 0))
  if (number !== '' && value > 0 && value <= longest) return value
  throw new UsageError(`${name} must be a duration such as 90s, 5m or 1h, at most 596h, but is ${JSON.stringify(text)}`)
}
