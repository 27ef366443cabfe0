/** OpenStack Swift, a real server with the protocol of S3, in a process of its own. It can be killed, and started again with the same objects. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { AwsClient } from 'aws4fetch'

export interface Swift {
  readonly port: number
  /** The environment of a server that archives in its bucket `archive`. `at`: the port that it asks; absent, its own. */
  env(at?: number): Readonly<Record<string, string>>
  /** Of all objects in the bucket. */
  names(): Promise<string[]>
  kill(): Promise<void>
  /** Starts it again, on the same port. */
  start(): Promise<void>
  dispose(): Promise<void>
}

const [user, secret] = ['test:archivist', 'secret-of-the-archive']
/** Debian's, which has the package python3-swift. Another Python may be the first one on the PATH. */
const python = '/usr/bin/python3'

export function findSwift(): boolean {
  return existsSync(python) && existsSync('/usr/lib/python3/dist-packages/swift/proxy/server.py')
}

export async function startSwift(): Promise<Swift> {
  const folder = await mkdtemp(join(placeWithAttributes(), 'rollcall-swift-'))
  let child: ChildProcess | null = null
  let port = 0

  async function start(): Promise<void> {
    const program = join(import.meta.dirname, 'swift-process.py')
    const started = spawn(python, ['-B', program, folder, String(port), user, secret], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000)
    })
    child = started
    const over = once(started, 'close').then(() => Promise.reject(new Error(`Swift does not start: ${said}`)))
    // Rejected when it is killed, too.
    over.catch(() => undefined)
    const [line] = await Promise.race([once(createInterface({ input: started.stdout }), 'line'), over])
    port = Number(line)
  }

  async function kill(): Promise<void> {
    const ended = child && once(child, 'close')
    child?.kill('SIGKILL')
    child = null
    await ended
  }

  const client = new AwsClient({ accessKeyId: user, secretAccessKey: secret, service: 's3', region: 'us-east-1' })
  async function ask(method: string, search = ''): Promise<string> {
    const response = await client.fetch(`http://127.0.0.1:${port}/archive${search}`, { method })
    const text = await response.text()
    if (!response.ok) throw new Error(`Swift answers ${response.status}: ${text}`)
    return text
  }

  await start()
  await ask('PUT')
  return {
    ...{ port, kill, start },
    env: (at = port) => ({
      ARCHIVE: 's3://archive/plant',
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${at}`,
      AWS_ACCESS_KEY_ID: user,
      AWS_SECRET_ACCESS_KEY: secret,
    }),
    names: async () =>
      [...(await ask('GET', '?list-type=2')).matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key),
    async dispose() {
      await kill()
      await rm(folder, { recursive: true })
    },
  }
}

/** A folder whose file system has extended attributes: Swift stores what it knows of an object there. */
function placeWithAttributes(): string {
  const probe = `
import os, sys, tempfile
for place in sys.argv[1:]:
    try:
        with tempfile.NamedTemporaryFile(dir=place) as file:
            os.setxattr(file.name, 'user.rollcall', b'1')
        print(place)
        break
    except OSError:
        pass
`
  const places = [tmpdir(), join(import.meta.dirname, '../../../node_modules')]
  const found = spawnSync(python, ['-B', '-c', probe, ...places], { encoding: 'utf8' }).stdout.trim()
  if (found === '')
    throw new Error(`Swift needs a file system with extended attributes: ${places.join(' and ')} have none`)
  return found
}
