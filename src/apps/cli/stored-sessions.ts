/**
 * The sessions of `rollcall login`, by the address of the server: `$XDG_CONFIG_HOME/rollcall/sessions.json`, or below `~/.config`. Only its
 * owner can read the file. One that others can read is refused, because a token in it may be known to them.
 */
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from '../../server/process/arguments.ts'

interface StoredSession {
  readonly token: string
  readonly name: string
  /** When it ends at the latest. */
  readonly endsAt: number
}

type Sessions = Readonly<Record<string, StoredSession>>

function sessionFile(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'rollcall', 'sessions.json')
}

/** Null: there is none, or it has ended. Throws a UsageError if others can read the file. */
export async function findStoredSession(url: string, env: NodeJS.ProcessEnv): Promise<StoredSession | null> {
  const found = (await readSessions(sessionFile(env)))[keyOf(url)]
  return found && found.endsAt > Date.now() ? found : null
}

/** Null removes it. */
export async function storeSession(url: string, session: StoredSession | null, env: NodeJS.ProcessEnv): Promise<void> {
  const file = sessionFile(env)
  const { [keyOf(url)]: _, ...others } = await readSessions(file)
  const sessions: Sessions = session === null ? others : { ...others, [keyOf(url)]: session }
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // Written beside and renamed, so that a reader never finds half a file.
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(sessions, null, 2)}\n`, { mode: 0o600 })
  await chmod(draft, 0o600)
  await rename(draft, file)
}

async function readSessions(file: string): Promise<Sessions> {
  try {
    if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0)
      throw new UsageError(`others can read ${file}: delete it, and sign in again`)
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    if (error instanceof SyntaxError) throw new UsageError(`${file} is not JSON: delete it, and sign in again`)
    throw error
  }
}

function keyOf(url: string): string {
  return new URL(url).href.replace(/\/+$/, '')
}
