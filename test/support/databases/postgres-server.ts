/** A PostgreSQL of the tests' own, in a temporary folder: stopped and removed when they are done. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../servers/ports.ts'

const run = promisify(execFile)

/** Initialised data directories, by version: initdb takes longer than most tests. */
const cache = join(import.meta.dirname, '../../../node_modules/.cache/rollcall-test')

export interface PostgresServer {
  readonly url: string
  /** `immediate` is what a crash looks like. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  /** `env`: more variables of its processes. */
  start(env?: Readonly<Record<string, string>>): Promise<void>
  readonly dataDir: string
  /** Of a stopped server: `write` makes the files anew. `aside`: the copy. */
  replaceFiles(write: (aside: string) => void): void
  /** Copies the stopped server's files aside, or puts the copy back. */
  backUp(): void
  restore(): void
  /** Makes the stopped server a standby (of no primary), or the running standby a primary on another timeline. */
  demote(): void
  promote(): Promise<void>
  dispose(): Promise<void>
}

/** The folder with initdb and postgres; null where there is none. */
export function findPostgres(): string | null {
  const installed = existsSync('/usr/lib/postgresql')
    ? readdirSync('/usr/lib/postgresql')
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => `/usr/lib/postgresql/${version}/bin`)
    : []
  const onPath = (process.env.PATH ?? '').split(':')
  return (
    [...installed, ...onPath].find((dir) => existsSync(join(dir, 'initdb')) && existsSync(join(dir, 'postgres'))) ??
    null
  )
}

interface PostgresServerOptions {
  /** As it is in production, for measurements. */
  readonly isDurable?: boolean
  /** More of the server's settings, as `name=value`. */
  readonly settings?: readonly string[]
  /** The server is a streaming standby of that one. */
  readonly primary?: Pick<PostgresServer, 'url'>
}

export async function startPostgres({
  isDurable = false,
  settings: more = [],
  primary,
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  const bin = findPostgres()
  if (!bin) throw new Error('there is no PostgreSQL on this machine')
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-pg-'))
  const dataDir = join(folder, 'data')
  const backup = join(folder, 'backup')
  mkdirSync(dataDir, { mode: 0o700 })
  const user = unprivileged()
  if (user) for (const path of [folder, dataDir]) chownSync(path, user.uid, user.gid)
  const port = await freePort()
  // The server refuses to run as root, and must not hold the tests' pipes open.
  const as = { ...user, cwd: folder, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' } }
  if (primary) {
    const copying = ['-D', dataDir, '-d', primary.url, '-c', 'fast', '-X', 'stream', '-R', '--no-sync']
    await run(join(bin, 'pg_basebackup'), copying, as)
  } else await initialise()
  // Without fsync a power cut may lose data, and a killed server loses none: the kernel has its pages. No test cuts the power.
  const fast = isDurable ? [] : ['fsync=off', 'full_page_writes=off', 'max_wal_size=256MB']
  const ofStandby = primary ? ['hot_standby_feedback=on'] : []
  const common = ['listen_addresses=127.0.0.1', 'max_connections=200', 'shared_buffers=64MB']
  const settings = [...common, ...ofStandby, ...fast, ...more]
  const options = [`-p ${port} -k ${folder}`, ...settings].join(' -c ')
  const control = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> => {
    const how = { ...as, env: { ...as.env, ...env }, stdio: 'ignore' } as const
    await new Promise<void>((resolve, reject) => {
      const child = spawn(join(bin, 'pg_ctl'), ['-D', dataDir, '-w', '-t', '60', ...args], how)
      child.on('error', reject)
      child.on('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`pg_ctl ${args[0]} ended with ${code}: ${lastLines()}`)),
      )
    })
  }
  const lastLines = (): string =>
    existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8').split('\n').slice(-8).join('\n') : ''
  const start = (env?: Readonly<Record<string, string>>): Promise<void> =>
    control(['start', '-l', join(folder, 'log'), '-o', options], env)
  let isRunning = false
  await start()
  isRunning = true
  // Tests that are killed clean nothing up: this does.
  const us = process.pid
  const cleanUp = `while kill -0 ${us} || [ -d /proc/${us} ]; do sleep 1; done; "$0" stop -m immediate -D "$1/data"; rm -rf "$1"`
  const watchdog = spawn('sh', ['-c', cleanUp, join(bin, 'pg_ctl'), folder], { ...as, detached: true, stdio: 'ignore' })
  watchdog.unref()

  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop(mode = 'fast') {
      if (isRunning) await control(['stop', '-m', mode])
      isRunning = false
    },
    async start(env) {
      if (!isRunning) await start(env)
      isRunning = true
    },
    dataDir,
    replaceFiles(write) {
      rmSync(dataDir, { recursive: true, force: true })
      write(backup)
      if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, dataDir])
    },
    backUp() {
      rmSync(backup, { recursive: true, force: true })
      copy(dataDir, backup)
    },
    restore() {
      rmSync(dataDir, { recursive: true, force: true })
      copy(backup, dataDir)
    },
    demote() {
      const signal = join(dataDir, 'standby.signal')
      writeFileSync(signal, '')
      if (user) chownSync(signal, user.uid, user.gid)
    },
    promote: () => control(['promote']),
    async dispose() {
      watchdog.kill()
      if (isRunning) await control(['stop', '-m', 'immediate']).catch(() => undefined)
      isRunning = false
      // What is still ending may still write.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    },
  }

  /** Of two that initialise the first copy at once, one keeps it. */
  async function initialise(): Promise<void> {
    const { stdout } = await run(join(bin ?? '', 'postgres'), ['--version'])
    const initialised = join(cache, stdout.trim().replaceAll(/[^\w.]+/g, '-'))
    try {
      copy(`${initialised}/.`, dataDir)
      return
    } catch {
      rmSync(dataDir, { recursive: true, force: true })
    }
    await run(
      join(bin ?? '', 'initdb'),
      ['-D', dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
      as,
    )
    const mine = `${initialised}.${randomUUID()}`
    try {
      mkdirSync(cache, { recursive: true })
      copy(dataDir, mine)
      renameSync(mine, initialised)
    } catch {
      rmSync(mine, { recursive: true, force: true })
    }
  }

  function copy(from: string, to: string): void {
    if (!user) cpSync(from, to, { recursive: true })
    else execFileSync('cp', ['-a', from, to], { stdio: 'ignore' })
  }
}

/** The user to run as when this is root. */
export function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {}
  }
  return { uid: 65534, gid: 65534 }
}
