/** PgBouncer in front of a PostgreSQL of the tests. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answers, freePort } from '../servers/ports.ts'

type PoolMode = 'session' | 'transaction' | 'statement'

export interface PgBouncer {
  /** The same database behind it. */
  urlOf(url: string): string
  /** Changes the mode of its pools, as an operator does: while clients are connected. */
  switchTo(mode: PoolMode): void
  dispose(): Promise<void>
}

/** The program; null where there is none. */
export function findPgBouncer(): string | null {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return folders.map((folder) => join(folder, 'pgbouncer')).find((file) => existsSync(file)) ?? null
}

interface PgBouncerOptions {
  /** The URL of the PostgreSQL behind it. */
  readonly server: string
  readonly mode: PoolMode
  /** Of its connections to each database. */
  readonly size?: number
  readonly users?: readonly string[]
}

export async function startPgBouncer({
  server,
  mode,
  size = 60,
  users = ['postgres'],
}: PgBouncerOptions): Promise<PgBouncer> {
  const program = findPgBouncer()
  if (!program) throw new Error('there is no PgBouncer on this machine')
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-pgbouncer-'))
  chmodSync(folder, 0o777)
  const port = await freePort()
  const { hostname, port: behind } = new URL(server)
  const file = join(folder, 'pgbouncer.ini')
  const write = (now: PoolMode): void =>
    writeFileSync(
      file,
      [
        '[databases]',
        `* = host=${hostname} port=${behind || 5432}`,
        '[pgbouncer]',
        `listen_addr = 127.0.0.1`,
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = trust',
        `auth_file = ${join(folder, 'users')}`,
        `pool_mode = ${now}`,
        `default_pool_size = ${size}`,
        'max_client_conn = 500',
      ].join('\n'),
    )
  write(mode)
  writeFileSync(join(folder, 'users'), users.map((name) => `"${name}" ""\n`).join(''))
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const child = spawn(program, [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ended = once(child, 'close')
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
  const dispose = async (): Promise<void> => {
    if (!isOver()) child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  while (!(await answers(port))) {
    if (isOver()) {
      await dispose()
      throw new Error(`PgBouncer does not start: ${log}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    urlOf: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    switchTo(now) {
      write(now)
      child.kill('SIGHUP')
    },
    dispose,
  }
}
