/** The nginx of deploy/ as it is shipped, in front of servers of the tests: only its ports, its paths and whom it leads to are others. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../documentation.ts'
import { answers, freePorts } from '../servers/ports.ts'

export interface Nginx {
  readonly port: number
  /** Where it listens on https. */
  readonly tlsPort: number
  dispose(): Promise<void>
}

interface NginxOptions {
  /** Of the server behind it, */
  readonly port?: number
  /** or of two. */
  readonly ports?: readonly [number, number]
  /** Paths. */
  readonly cert: string
  readonly key: string
  readonly clientCa: string
  /** How long nginx waits for a silent server, if not as shipped. */
  readonly readTimeout?: string
}

/** The program; null where there is none. */
export function findNginx(): string | null {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return folders.map((folder) => join(folder, 'nginx')).find((file) => existsSync(file)) ?? null
}

export async function startNginx({
  port: behind = 0,
  ports = [behind, behind],
  cert,
  key,
  clientCa,
  readTimeout = '60s',
}: NginxOptions): Promise<Nginx> {
  const program = findNginx()
  if (!program) throw new Error('there is no nginx on this machine')
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-nginx-'))
  const [port = 0, tlsPort = 0] = await freePorts(2)
  const shipped = (file: string, changes: readonly (readonly [string | RegExp, string])[]): string => {
    let text = readFileSync(join(root, 'deploy', file), 'utf8')
    for (const [from, to] of changes) {
      const changed = text.replace(from, to)
      if (changed === text) throw new Error(`deploy/${file} has no ${from}`)
      text = changed
    }
    const path = join(folder, file)
    writeFileSync(path, text)
    return path
  }
  const tls = shipped('nginx-tls.conf', [
    ['listen 4443 ', `listen 127.0.0.1:${tlsPort} `],
    ['/etc/nginx/tls/server.pem', cert],
    ['/etc/nginx/tls/server.key', key],
    ['/etc/nginx/tls/devices.pem', clientCa],
  ])
  const main = shipped('nginx.conf', [
    [/rollcall-\d:4000 /, `127.0.0.1:${ports[0]} `],
    [/rollcall-\d:4000 /, `127.0.0.1:${ports[1]} `],
    ['listen 4000;', `listen 127.0.0.1:${port};`],
    ['/etc/nginx/tls/*.conf', tls],
    [/proxy_read_timeout 60s(?=;)/, `proxy_read_timeout ${readTimeout} `],
  ])
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  )
  const configuration = join(folder, 'main.conf')
  writeFileSync(
    configuration,
    [
      // Its workers change to another user otherwise, who may not read a test's folder.
      ...(process.getuid?.() === 0 ? ['user root;'] : []),
      'daemon off; worker_processes 1;',
      `pid ${join(folder, 'pid')};`,
      'events {}',
      `http { access_log off; ${folders.join(' ')} include ${main}; }`,
    ].join('\n'),
  )
  const child = spawn(program, ['-e', 'stderr', '-c', configuration, '-p', folder], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const ended = once(child, 'close')
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null

  async function dispose(): Promise<void> {
    if (!isOver()) child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }

  while (!(await answers(tlsPort))) {
    if (isOver()) {
      await dispose()
      throw new Error(`nginx does not start: ${complaints}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return { port, tlsPort, dispose }
}
