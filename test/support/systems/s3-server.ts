/** A server with the protocol of S3, in a process of its own. It can be killed, and started again with the same objects. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { childEnvironment } from '../servers/child.ts'

export interface S3Server {
  readonly port: number
  /** The environment of a server that archives in its bucket `archive`. */
  readonly env: Readonly<Record<string, string>>
  /** Has its objects as files, by their names. */
  readonly bucket: string
  names(): Promise<string[]>
  kill(): Promise<void>
  start(): Promise<void>
  dispose(): Promise<void>
}

const [accessKey, secret] = ['access-key-of-the-archive', 'secret-of-the-archive']

export async function startS3(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-s3-'))
  const bucket = join(folder, 'archive')
  mkdirSync(bucket)
  let child: ChildProcess | null = null
  let port = 0

  async function start(): Promise<void> {
    const program = join(import.meta.dirname, 's3-process.ts')
    const started = spawn(process.execPath, [program, folder, String(port), accessKey, secret], {
      env: childEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child = started
    const [line] = await once(createInterface({ input: started.stdout }), 'line')
    port = Number(line)
  }

  async function kill(): Promise<void> {
    const ended = child && once(child, 'close')
    child?.kill('SIGKILL')
    child = null
    await ended
  }

  await start()
  return {
    ...{ port, bucket, kill, start },
    env: {
      ARCHIVE: 's3://archive/plant',
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: accessKey,
      AWS_SECRET_ACCESS_KEY: secret,
    },
    names: () => readdir(bucket, { recursive: true }),
    async dispose() {
      await kill()
      await rm(folder, { recursive: true })
    },
  }
}
