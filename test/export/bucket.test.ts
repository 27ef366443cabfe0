/** The archive in a bucket: the same copies as in a directory, whatever happens to the server of the bucket. */
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createArchive } from '../../src/api/export/archive/archive.ts'
import { type BucketConfig, createBucket } from '../../src/api/export/archive/bucket.ts'
import type { Storage } from '../../src/api/export/archive/directory.ts'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import type { Archive } from '../../src/ingest/duties/history.ts'
import { createArchiving, createRetention, dropDelay } from '../../src/ingest/duties/history.ts'
import type { Fetch } from '../../src/platform/outbound/fetch.ts'
import { archiveConfig, archiveVariables } from '../../src/server/config/archive.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database } from '../../src/store/database.ts'
import { change, closeAfterEach, open } from '../feed/harness.ts'
import { postgresStores, stores } from '../support/databases/stores.ts'
import { isWhole } from '../support/runner/depth.ts'
import { startApp } from '../support/servers/app.ts'
import { startChild } from '../support/servers/child.ts'
import { createRoad } from '../support/servers/road.ts'
import { type S3Server, startS3 } from '../support/systems/s3-server.ts'
import { type Duck, openDuck } from './duckdb.ts'
import { exportRows } from './rows.ts'

closeAfterEach()

const day = 86_400_000
const forEver = { listeningSince: 0, isOver: () => false }
const [store] = stores
let s3: S3Server
let duck: Duck
beforeAll(async () => {
  s3 = await startS3()
  duck = await openDuck()
})
afterAll(async () => {
  await s3?.dispose()
  await duck?.close()
})

function configOf(env: Readonly<Record<string, string>>): BucketConfig {
  const config = archiveConfig(z.object(archiveVariables).parse(env))
  return config?.kind === 's3' ? config : expect.unreachable()
}
const bucketOf = (env: Readonly<Record<string, string>> = {}): Storage => createBucket(configOf({ ...s3.env, ...env }))

async function retire(database: Database, archive: Archive): Promise<void> {
  let monotonic = 0
  const signal = new AbortController().signal
  const retention = createRetention({ database, kept: day, signal, archive, monotonic: () => monotonic })
  for (const _ of [1, 2, 3]) {
    await retention.run({ ...forEver, now: Date.now() + 30 * day })
    monotonic += dropDelay + 1
  }
}
const copy = (database: Database, archive: Archive) =>
  createArchiving({ database, kept: day, signal: new AbortController().signal }, archive).run({
    ...forEver,
    now: Date.now() + 30 * day,
  })
const leftIn = async (database: Database): Promise<number> => {
  const [row] = await database.session.run<{ rows: number }>('select count(*)::int as rows from change_log')
  return row?.rows ?? expect.unreachable()
}

describe('the archive in a bucket', () => {
  it.each([200, 500])('stops reading an answer that does not end, with status %i', async (status) => {
    const part = Buffer.alloc(16 * 2 ** 20)
    let isCancelled = false
    const endless = (): ReadableStream =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(part),
        cancel() {
          isCancelled = true
        },
      })
    const send = async (): Promise<Response> => new Response(endless(), { status })
    await expect(createBucket(configOf(s3.env), { fetch: send }).get('a', 1e9)).rejects.toThrow(
      /^the bucket sends more than/,
    )
    expect(isCancelled).toBe(true)
  })

  it.each([204, 205, 304])('reads an answer without a body, with status %i', async (status) => {
    const bucket = createBucket(configOf(s3.env), { fetch: async () => new Response(null, { status }) })
    if (status === 304) await expect(bucket.get('a', 1e9)).rejects.toThrow('the bucket refuses to send a: 304')
    else expect(await bucket.get('a', 1e9)).toHaveLength(0)
  })

  it('says that an answer ended early', async () => {
    const cut = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) })
    const bucket = createBucket(configOf(s3.env), { fetch: async () => new Response(cut) })
    await expect(bucket.get('a', 1e9)).rejects.toThrow('the bucket ends its answer early')
  })

  it('has what retention removes, also when the server of the bucket is killed at any moment', async () => {
    const [road] = await open(store ?? expect.unreachable())
    const { database } = road
    for (let n = 0; n < 9; n += 1) await change(road)
    const expected = (
      await exportRows(database, 'changes', { afterRevision: String((await readHead(database.session)).tail) })
    ).map(({ cursor }) => cursor)
    const bucket = bucketOf()
    for (const writes of [0, 2, 3]) {
      let left = writes
      const dying: Storage = {
        get: bucket.get,
        async put(name, bytes) {
          left -= 1
          if (left !== -1) return bucket.put(name, bytes)
          const put = bucket.put(name, bytes)
          await Promise.all([s3.kill(), put.catch(() => undefined)])
          return put
        },
      }
      const archive = createArchive(dying, database, { rows: 2, bytes: 1_000_000 })
      await expect(copy(database, archive)).rejects.toThrow('the bucket cannot be reached')
      await expect(retire(database, archive)).rejects.toThrow('the bucket cannot be reached')
      expect(await leftIn(database)).toBe(9)
      await s3.start()
    }
    const archive = createArchive(bucket, database, { rows: 2, bytes: 1_000_000 })
    expect(await copy(database, archive)).toBe(true)
    const rows = await duck.askFiles(
      join(s3.bucket, 'plant/changes/*.parquet'),
      'select distinct cursor from read_parquet(FILE)',
    )
    expect(rows.map(({ cursor }) => Number(cursor)).toSorted((a, b) => a - b)).toEqual(expected.map(Number))
    await retire(database, archive)
    expect(await leftIn(database)).toBe(0)
    expect(await s3.names()).toContain('plant/changes/archived.json')
  })

  it.each([
    ['of another secret', { AWS_SECRET_ACCESS_KEY: 'another-secret' }, '403 SignatureDoesNotMatch'],
    ['of an unknown key', { AWS_ACCESS_KEY_ID: 'unknown-key' }, '403 InvalidAccessKeyId'],
    ['of a bucket that is missing', { ARCHIVE: 's3://elsewhere' }, '404 NoSuchBucket'],
  ])('refuses requests %s, without the key in the message', async (_, env, message) => {
    const bucket = bucketOf(env)
    for (const act of [() => bucket.get('a', 1e9), () => bucket.put('a', Buffer.from('a'))]) {
      const error: Error = await act().then(
        () => expect.unreachable(),
        (reason) => reason,
      )
      expect(error.message).toContain(message)
      expect(JSON.stringify([error, error.message, error.stack])).not.toMatch(
        /another-secret|unknown-key|-of-the-archive/,
      )
    }
  })

  it('keeps bytes, replaces objects, and returns null for an unknown name', async () => {
    const bucket = bucketOf()
    const bytes = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, n) => n % 251))
    await bucket.put('some/file.bin', bytes.subarray(1))
    await bucket.put('some/file.bin', bytes)
    expect((await bucket.get('some/file.bin', 1e9))?.equals(bytes)).toBe(true)
    expect(await bucket.get('some/other.bin', 1e9)).toBeNull()
    await bucket.put('empty', Buffer.alloc(0))
    expect(await bucket.get('empty', 1e9)).toHaveLength(0)
  })

  it('is addressed by its host name, with a signature for that name', async () => {
    const { AWS_ENDPOINT_URL_S3: _, ...env } = s3.env
    const url = 'http://s3.amazonaws.com'
    const config = configOf({ ...env, AWS_ENDPOINT_URL: url, ARCHIVE_PATH_STYLE: 'false' })
    const bucket = createBucket(config, { fetch: toLoopback(s3.port) })
    await bucket.put('by-host', Buffer.from('name'))
    expect(String(await bucket.get('by-host', 1e9))).toBe('name')
    expect(String(await bucketOf().get('by-host', 1e9))).toBe('name')
  })

  it.each([
    [{ AWS_REGION: 'eu-central-1' }, 'https://archive.s3.eu-central-1.amazonaws.com/plant', 'eu-central-1'],
    [{ AWS_DEFAULT_REGION: 'eu-west-1', ARCHIVE: 's3://a.b' }, 'https://s3.eu-west-1.amazonaws.com/a.b', 'eu-west-1'],
    [{ AWS_ENDPOINT_URL: 'http://minio:9000/' }, 'http://minio:9000/archive/plant', 'us-east-1'],
    [{ AWS_ENDPOINT_URL: 'https://o.example', ARCHIVE_PATH_STYLE: 'no' }, '', ''],
    [
      { AWS_ENDPOINT_URL: 'https://o.example', ARCHIVE_PATH_STYLE: 'false' },
      'https://archive.o.example/plant',
      'us-east-1',
    ],
  ])('has with %j the address %s', (env, url, region) => {
    const given = { ARCHIVE: 's3://archive/plant', ...env }
    if (url === '') expect(() => configOf(given)).toThrow()
    else expect(configOf(given)).toMatchObject({ url, region })
  })
})

describe.each(postgresStores)('a process that archives to a bucket from $name', (postgres) => {
  it.runIf(isWhole)('is killed before it has recorded a file, and the next process stores each row once', async () => {
    const empty = await postgres.create()
    const road = await createRoad(await empty.open())
    const { database } = road
    for (let n = 0; n < 9; n += 1) await change(road)
    const { revision, tail } = await readHead(database.session)
    const config = configOf({ ...s3.env, ARCHIVE: 's3://archive/killed' })
    const child = startChild(
      `
      const { createArchive } = await import('./src/api/export/archive/archive.ts')
      const { createBucket } = await import('./src/api/export/archive/bucket.ts')
      const { openDatabase } = await import('./src/store/open.ts')
      const { store, bucket, revision } = JSON.parse(process.env.GIVEN)
      const { get, put } = createBucket(bucket)
      const storage = { get, async put(name, bytes) {
        if (!name.endsWith('archived.json')) return put(name, bytes)
        console.log('has written a file')
        await new Promise(() => setInterval(() => {}, 1_000))
      } }
      await createArchive(storage, await openDatabase(store), { rows: 2, bytes: 1e6 }).copy('change_log', revision, () => false)
    `,
      { GIVEN: JSON.stringify({ store: empty.config, bucket: config, revision }) },
    )
    await child.said(/has written a file/)
    child.process.kill('SIGKILL')
    await child.ended
    const filesOf = async () =>
      (await readdir(join(s3.bucket, 'killed/changes'))).filter((name) => /parquet$/.test(name))
    const before = await filesOf()
    expect(before).toHaveLength(1)
    const archive = createArchive(createBucket(config), database, { rows: 2, bytes: 1_000_000 })
    expect(await archive.copy('change_log', revision, () => false)).toBe(true)
    // The copy that was not noted is made again, under the same name.
    expect(await filesOf()).toEqual(before)
    const pattern = join(s3.bucket, 'killed/changes/*.parquet')
    const rows = await duck.askFiles(pattern, 'select cursor from read_parquet(FILE)')
    const expected = await exportRows(database, 'changes', { afterRevision: String(tail) })
    expect(rows.map(({ cursor }) => cursor).toSorted()).toEqual(expected.map(({ cursor }) => cursor).toSorted())
    await road.close()
    await empty.drop()
  })
})

describe('a server with a bucket as ARCHIVE', () => {
  const start = async (env: Readonly<Record<string, string>>, closing = 10_000) => {
    let ahead = 0
    const server = await startApp({
      env: { HISTORY_DAYS: '1', ...env },
      clock: () => Date.now() + ahead,
      timeouts: { ...defaultTimeouts, duties: 50, closing },
    })
    const body = { deploymentId: 'd', status: { state: 'installing' }, components: [] }
    const report = () => server.post('/device/edge-1/deployment/d/status', body)
    expect((await report()).status).toBe(201)
    const age = () => (ahead += 30 * day)
    const failures = async () =>
      Number(/duty_failures\{duty="archive"\} (\d+)/.exec(await server.app.metrics.print())?.[1] ?? 0)
    return { server, report, age, failures }
  }

  it('says that the bucket cannot be reached, accepts reports, and copies when the bucket is back', async () => {
    const before = await s3.names()
    await s3.kill()
    const { server, report, age, failures } = await start(s3.env)
    age()
    await expect.poll(failures).toBeGreaterThan(0)
    // The line is written after the failure is counted.
    const said = () => server.logged.map(({ msg }) => msg)
    await expect.poll(said).toContainEqual(expect.stringContaining('the background duty archive failed'))
    expect(JSON.stringify(server.logged)).not.toContain('-of-the-archive')
    expect((await report()).ok).toBe(true)
    expect((await server.query('{ changes { nodes { revision } } }')).changes.nodes).toHaveLength(1)
    await s3.start()
    const added = async () => (await s3.names()).filter((name) => !before.includes(name))
    await expect.poll(added).toContainEqual(expect.stringMatching(/^plant\/changes\/.*\.parquet$/))
    await server.stop()
  })

  it('ends while the bucket does not answer', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const asked = new Promise((resolve) => silent.once('connection', resolve))
    const { port } = silent.address() as { port: number }
    // The duty is asked to end after half of it, and has the other half to end in.
    const closing = 4_000
    const { server, age } = await start({ ...s3.env, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}` }, closing)
    age()
    await asked
    expect(await server.app.close()).toBe(true)
    await server.stop()
    silent.close()
  })
})

/** As if every host name were an address of this machine. */
function toLoopback(port: number): Fetch {
  return async (input, { method = 'GET', headers, body } = {}) => {
    const { host, pathname: path } = new URL(String(input))
    const sent = request({ port, method, path, headers: { ...Object.fromEntries(new Headers(headers)), host } })
    sent.end(body instanceof Uint8Array ? body : '')
    const [answer]: IncomingMessage[] = await once(sent, 'response')
    return new Response(await buffer(answer ?? expect.unreachable()), { status: answer?.statusCode ?? 500 })
  }
}
