/** ADMITTED_CLIENTS: a file that lists the clients that are admitted, one a line: a client id, or a whole SPIFFE id. It is read again while the server runs. */
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../../platform/config-error.ts'
import type { Log } from '../../../platform/log/log.ts'
import { clientOf, problemOfSpiffeId } from '../devices/spiffe.ts'

export interface AdmittedClients {
  has(spiffeId: string, client: string): boolean
  /** Reads the file now. */
  reload(): Promise<void>
  close(): void
}

interface AdmittedClientsDeps {
  readonly file: string
  readonly log: Log
  /** Milliseconds between two looks. */
  readonly interval?: number | undefined
}

/** Throws a ConfigError if the file cannot be used at the start. Later, the former list stays in use. */
export async function readAdmittedClients({
  file,
  log,
  interval = 5_000,
}: AdmittedClientsDeps): Promise<AdmittedClients> {
  let text = await read(file)
  let listed = parse(file, text)
  let warned = ''
  let reading = Promise.resolve()

  async function look(): Promise<void> {
    try {
      const found = await read(file)
      const clients = found === text ? null : parse(file, found)
      warned = ''
      if (clients === null) return
      ;[text, listed] = [found, clients]
      log.info({ clients: listed.size }, 'the list of admitted clients was replaced')
    } catch (error) {
      const problem = error instanceof ConfigError ? String(error.problems[0]) : String(error)
      if (problem !== warned)
        log.warn({ problem }, 'the list of admitted clients cannot be used: the former one stays in use')
      warned = problem
    }
  }
  const reload = (): Promise<void> => {
    reading = reading.then(look)
    return reading
  }

  const timer = setInterval(() => void reload(), interval).unref()
  return {
    has: (spiffeId, client) => listed.has(spiffeId) || listed.has(client),
    reload,
    close: () => clearInterval(timer),
  }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`ADMITTED_CLIENTS cannot be read: ${file} (${error.code ?? error.message})`])
  })
}

function parse(file: string, text: string): ReadonlySet<string> {
  const entries = text.split(/\r?\n/).map((line) => line.replace(/(^|\s)#.*/, '').trim())
  const problems = entries.flatMap((entry, at) =>
    entry === '' ||
    /^(?!\.{1,2}$)[\w.-]{1,256}$/.test(entry) ||
    (problemOfSpiffeId(entry) === null && clientOf(entry) !== null)
      ? []
      : [`ADMITTED_CLIENTS: line ${at + 1} of ${file} must be a client id, or the SPIFFE id of a client`],
  )
  if (problems.length > 0) throw new ConfigError(problems.slice(0, 20))
  return new Set(entries.filter((entry) => entry !== ''))
}
