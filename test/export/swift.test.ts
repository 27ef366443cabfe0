/** The archive in a bucket of a real server (OpenStack Swift), which is killed in the middle of an upload and of a download, and started again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createBucket } from '../../src/api/export/archive/bucket.ts'
import type { Storage } from '../../src/api/export/archive/directory.ts'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { archiveConfig, archiveVariables } from '../../src/server/config/archive.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { startApp } from '../support/servers/app.ts'
import { findSwift, type Swift, startSwift } from '../support/systems/swift.ts'
import { openDuck } from './duckdb.ts'
import { exportRows } from './rows.ts'

const isMissing = !findSwift()
const day = 86_400_000
/** Milliseconds. */
const retentionInterval = 30_000

function bucketOf(env: Readonly<Record<string, string>>): Storage {
  const config = archiveConfig(z.object(archiveVariables).parse(env))
  return createBucket(config?.kind === 's3' ? config : expect.unreachable())
}

interface Gate {
  readonly port: number
  /** Resolves when a request for a Parquet file has been let through in part. Nothing passes on its connection after that. */
  stopIn(way: 'upload' | 'download'): Promise<void>
  close(): void
}

/** Stands before a server, and stops in the middle of a request or of its answer. */
async function openGate(target: number): Promise<Gate> {
  let stop: { readonly way: 'upload' | 'download'; readonly stopped: () => void } | null = null
  const sockets = new Set<Socket>()
  /** Bytes of a request or an answer that are let through. */
  const most = 1_500
  const server = createServer((client) => {
    const behind = connect(target, '127.0.0.1')
    let left = Number.POSITIVE_INFINITY
    for (const socket of [client, behind]) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket)
          client.destroy()
          behind.destroy()
        })
    }
    const pass = (to: Socket, chunk: Buffer): void => {
      if (left === 0) return
      to.write(chunk.subarray(0, left))
      left = Math.max(left - chunk.length, 0)
      if (left > 0) return
      stop?.stopped()
      stop = null
    }
    let isAnswer = false
    client.on('data', (chunk: Buffer) => {
      const [, method] = /^(GET|PUT) \S+\.parquet /.exec(chunk.toString('latin1', 0, 500)) ?? []
      if (stop?.way === 'upload' && method === 'PUT') left = most
      isAnswer = stop?.way === 'download' && method === 'GET'
      pass(behind, chunk)
    })
    behind.on('data', (chunk: Buffer) => {
      if (isAnswer && left > most) left = most
      pass(client, chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    stopIn: (way) =>
      new Promise((stopped) => {
        stop = { way, stopped }
      }),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

describe.skipIf(isMissing)('the archive in a bucket of Swift', () => {
  let swift: Swift
  beforeAll(async () => {
    swift = await startSwift()
  })
  afterAll(() => swift?.dispose())

  it('keeps bytes, replaces objects, and returns null for an unknown name', async () => {
    const bucket = bucketOf({ ...swift.env(), ARCHIVE: 's3://archive/other_1.x' })
    const bytes = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, n) => n % 251))
    await bucket.put('some/file.bin', bytes.subarray(1))
    await bucket.put('some/file.bin', bytes)
    expect((await bucket.get('some/file.bin', 1e9))?.equals(bytes)).toBe(true)
    expect(await bucket.get('some/other.bin', 1e9)).toBeNull()
    await bucket.put('empty', Buffer.alloc(0))
    expect(await bucket.get('empty', 1e9)).toHaveLength(0)
  })

  it.each([
    ['of another secret', { AWS_SECRET_ACCESS_KEY: 'another-secret' }, '403 SignatureDoesNotMatch'],
    ['of an unknown key', { AWS_ACCESS_KEY_ID: 'unknown-key' }, '403 '],
    ['of another region', { AWS_REGION: 'eu-central-1' }, '400 AuthorizationHeaderMalformed'],
    ['of a bucket that is missing', { ARCHIVE: 's3://elsewhere' }, '404 NoSuchBucket'],
  ])('refuses requests %s, without the key in the message', async (_, env, message) => {
    const bucket = bucketOf({ ...swift.env(), ...env })
    for (const act of [() => bucket.get('a', 1e9), () => bucket.put('a', Buffer.from('a'))]) {
      const error: Error = await act().then(
        () => expect.unreachable(),
        (reason) => reason,
      )
      expect(error.message).toContain(message)
      const said = JSON.stringify([error, error.message, error.stack])
      expect(said).not.toMatch(/another-secret|unknown-key|archivist|-of-the-archive/)
    }
  })

  it('has each row once after Swift was killed in the middle of an upload and of a download, and retention waits meanwhile', async () => {
    const gate = await openGate(swift.port)
    const env = swift.env(gate.port)
    let ahead = 0
    const server = await startApp({
      env: { HISTORY_DAYS: '1', ...env },
      clock: () => Date.now() + ahead,
      timeouts: { ...defaultTimeouts, duties: 50 },
    })
    const report = async (n: number): Promise<void> => {
      const body = { deploymentId: `d-${n}`, status: { state: 'installing' }, components: [] }
      expect((await server.post(`/device/edge-1/deployment/d-${n}/status`, body)).status).toBe(201)
    }
    const { database } = server.app
    const { tail } = await readHead(database.session)
    const cursors = async (): Promise<number[]> => {
      const rows = await exportRows(database, 'changes', { afterRevision: String(tail) })
      return rows.map(({ cursor }) => Number(cursor))
    }
    const left = async (): Promise<number> => {
      const [row] = await database.session.run<{ rows: number }>('select count(*)::int as rows from change_log')
      return row?.rows ?? expect.unreachable()
    }
    const failures = async (duty: 'archive' | 'retention'): Promise<number> =>
      Number(new RegExp(`duty_failures\\{duty="${duty}"\\} (\\d+)`).exec(await server.app.metrics.print())?.[1] ?? 0)

    for (let n = 0; n < 30; n += 1) await report(n)
    const old = await cursors()
    const entries = await left()
    for (const way of ['upload', 'download'] as const) {
      const stopped = gate.stopIn(way)
      if (way === 'upload') ahead = 30 * day
      else await swift.start()
      await stopped
      const before = await failures('archive')
      await swift.kill()
      await expect.poll(() => failures('archive')).toBeGreaterThan(before)
      // Taken while the archive fails, and too new to be copied.
      await report(way === 'upload' ? 100 : 101)
      ahead += retentionInterval
      await expect.poll(() => failures('retention')).toBeGreaterThan(0)
      expect((await cursors()).slice(0, old.length)).toEqual(old)
    }
    await swift.start()
    const leftLater = (): Promise<number> => {
      ahead += retentionInterval
      return left()
    }
    await expect.poll(leftLater).toBeLessThan(entries)

    const folder = await mkdtemp(join(tmpdir(), 'from-swift-'))
    const bucket = bucketOf(env)
    const names = (await swift.names()).flatMap((name) => /^plant\/(changes\/.*\.parquet)$/.exec(name)?.[1] ?? [])
    for (const name of names)
      await writeFile(join(folder, basename(name)), (await bucket.get(name, 1e9)) ?? expect.unreachable())
    const duck = await openDuck()
    const rows = await duck.askFiles(join(folder, '*.parquet'), 'select cursor from read_parquet(FILE)')
    expect(rows.map(({ cursor }) => Number(cursor)).toSorted((a, b) => a - b)).toEqual(old)
    expect((await server.query('{ deploymentCounts { total } }')).deploymentCounts.total).toBe(32)
    await duck.close()
    await server.stop()
    gate.close()
    await rm(folder, { recursive: true })
  })
})
