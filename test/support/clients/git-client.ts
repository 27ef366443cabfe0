/** The real client, as a device has it: without the settings of the user that runs the tests. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../folder.ts'

/** Said where the tests are skipped. */
export const whyNoGit = 'there is no git on the PATH'

export const hasGit = ((): boolean => {
  try {
    execFileSync('git', ['--version'])
    return true
  } catch {
    return false
  }
})()

const env = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'device',
  GIT_AUTHOR_EMAIL: 'device@example',
  GIT_COMMITTER_NAME: 'device',
  GIT_COMMITTER_EMAIL: 'device@example',
}

/** What it says on stdout, without the end of its last line; otherwise an error with all that it said. */
export async function git(directory: string, ...words: readonly string[]): Promise<string> {
  return (await gitExactly(directory, ...words)).replace(/\n$/, '')
}

export async function gitExactly(directory: string, ...words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', words, { cwd: directory, env, maxBuffer: 64 << 20 })
  return stdout
}

/** What it complains of. */
export async function gitFails(directory: string, ...words: readonly string[]): Promise<string> {
  try {
    await git(directory, ...words)
  } catch (error) {
    return (error as { stderr: string }).stderr
  }
  throw new Error(`git ${words.join(' ')} was to fail`)
}

/** Under way. */
export function startGit(directory: string, ...words: readonly string[]): ChildProcess {
  return spawn('git', words, { cwd: directory, env, stdio: 'ignore', detached: true })
}

/** With a user and this password in its address. */
export const as = (url: string, password: string, user = 'x'): string => url.replace('://', `://${user}:${password}@`)

/** Where it was cloned to. */
export async function clone(url: string, ...options: readonly string[]): Promise<string> {
  const folder = temporaryFolder()
  await git(folder, 'clone', '-q', ...options, url, 'clone')
  return join(folder, 'clone')
}
