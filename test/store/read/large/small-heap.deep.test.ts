/** What devices can have stored at most, read by everything at once: a server with a heap of 512 MiB goes on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectAsync } from 'mqtt'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type EmptyStore, postgresStores } from '../../../support/databases/stores.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { runs } from '../../../support/runner/depth.ts'
import { startApp } from '../../../support/servers/app.ts'
import { startProgram } from '../../../support/servers/program.ts'
import { findMosquitto, startMosquitto } from '../../../support/systems/mosquitto.ts'
import { changeAll, changesEach, fill, largeDeployment } from './largest-reports.ts'

async function rowsOf(url: string): Promise<number> {
  const answer = await fetch(url)
  let rows = 0
  for await (const chunk of answer.body ?? []) for (const byte of chunk) if (byte === 10) rows += 1
  return rows
}

/** Resolves when a subscriber that resumes at the beginning has received so many. */
async function changesOf(url: string, count: number): Promise<number> {
  const query = encodeURIComponent('subscription { changes(after: "0") { cursor change { kind } } }')
  const abort = new AbortController()
  const answer = await fetch(`${url}/graphql?query=${query}`, {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  })
  let changes = 0
  for await (const chunk of (answer.body ?? []).values() as AsyncIterable<Uint8Array>) {
    changes += Buffer.from(chunk).toString('latin1').split('"kind"').length - 1
    if (changes >= count) break
  }
  abort.abort()
  return changes
}

/** Resolves when so many deployments were published with all components. */
async function observe(broker: string, count: number): Promise<void> {
  const observer = await connectAsync(broker, { protocolVersion: 5 })
  onTestFinished(() => observer.endAsync(true))
  const large = new Set<string>()
  const { promise, resolve } = Promise.withResolvers<void>()
  observer.on('message', (topic, payload) => {
    if (payload.length > largeDeployment) large.add(topic)
    if (large.size === count) resolve()
  })
  await observer.subscribeAsync('rollcall/present/deployments/#', { qos: 1 })
  return promise
}

describe.each(postgresStores)('a server with a heap of 512 MiB on $name', (store) => {
  const [count, changed] = [runs(48, 1_512), 24]
  const longest = runs(120_000, 900_000)
  let empty: EmptyStore
  let revision: string
  beforeAll(async () => {
    empty = await store.create()
    const filling = await startApp({ on: empty })
    revision = (await filling.query('{ revision }')).revision
    await fill(filling.post, count)
    await filling.app.close()
    return () => empty.drop()
  }, longest)

  it(
    'answers exports and subscribers, publishes, delivers and traces a log of large entries at once',
    async () => {
      const broker = findMosquitto() ? await startMosquitto() : null
      onTestFinished(() => broker?.dispose())
      const program = startProgram({
        DATABASE_URL: empty.config.url ?? '',
        NODE_OPTIONS: '--max-old-space-size=512',
        SINK_ALLOW: '127.0.0.1',
        // No collector is there.
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
        ...(broker && { MQTT_URL: broker.url, MQTT_PUBLISH: 'all' }),
      })
      onTestFinished(() => program.dispose())
      const url = await program.listening
      const post = (path: string, body: unknown) =>
        fetch(`${url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      const input = { name: 'none', url: 'http://127.0.0.1:9', after: revision, filter: { deploymentIds: ['none'] } }
      const query = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { __typename } }'
      const created = await (await post('/graphql', { query, variables: { input } })).json()
      expect(created).toEqual({ data: { createWebhook: { __typename: 'CreateWebhookSuccess' } } })
      const published = broker && observe(broker.url, count)
      const four = Array.from({ length: 4 }, () => null)
      const kinds = ['deployments', 'devices', 'reports', 'audit']
      const answers = Promise.all([
        ...four.map(() => rowsOf(`${url}/export/changes?format=ndjson`)),
        ...four.map(() => changesOf(url, count * changesEach)),
        ...kinds.map((kind) => rowsOf(`${url}/export/${kind}?format=ndjson`)),
      ])
      const nested =
        '{ deployments(first: 100) { nodes { history(first: 100) { nodes { kind } } components { error { message } } } } }'
      const queries = four.map(async () => (await post('/graphql', { query: nested })).status)
      // Each ends an attempt and is published, so large rows are read for small changes.
      await changeAll(post, changed)
      const rows = await answers
      expect(rows.slice(0, 8).every((n) => n >= count * changesEach)).toBe(true)
      expect(rows.slice(8).map((n) => n > 0)).toEqual(kinds.map(() => true))
      // Together they may hold too many texts: then one is refused, and is to be repeated.
      for (const status of await Promise.all(queries)) expect([200, 503]).toContain(status)
      await published
      const lag = async () => (await (await post('/graphql', { query: '{ sinks { lag } }' })).json()).data.sinks
      await expect.poll(lag, { timeout: 60_000 }).toEqual([{ lag: 0 }])
      await expect
        .poll(() => program.stdout() + program.stderr(), { timeout: 60_000 })
        .toContain('traces were not exported')
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
    },
    longest,
  )

  it(
    'writes a burst of small reports about large deployments',
    async () => {
      const program = startProgram({ DATABASE_URL: empty.config.url ?? '', NODE_OPTIONS: '--max-old-space-size=512' })
      onTestFinished(() => program.dispose())
      const url = await program.listening
      const report = (number: number) => ({
        deploymentId: `d-${number}`,
        status: { state: 'installing' },
        components: [],
      })
      const send = async (number: number) => {
        const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(report(number)) }
        const sent = await fetch(`${url}/device/edge-1/deployment/d-${number}/status`, { method: 'POST', ...init })
        return sent.status
      }
      // As many as wait at once while a client is patient.
      const statuses = await Promise.all(Array.from({ length: Math.min(count, 400) }, (_, number) => send(number)))
      expect(new Set(statuses)).toEqual(new Set([201]))
    },
    longest,
  )

  it('archives what has expired', () => expectArchived(empty, count), longest)
})

/** All reports have expired: the archive has them, and then they are removed. */
async function expectArchived(empty: EmptyStore, count: number): Promise<void> {
  const database = await empty.open()
  for (const [table, time] of [
    ['change_log', 'at'],
    ['reports', 'received_at'],
    ['audit_log', 'at'],
  ])
    await database.session.run(`update ${table} set ${time} = ${time} - interval '30 days'`)
  await database.close()
  const folder = temporaryFolder()
  const archiving = startProgram({
    DATABASE_URL: empty.config.url ?? '',
    NODE_OPTIONS: '--max-old-space-size=512',
    ...{ ARCHIVE: folder, HISTORY_DAYS: '1' },
  })
  onTestFinished(() => archiving.dispose())
  await archiving.listening
  const archived = (): Record<string, number> => {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('manifest.json'),
    )
    const manifests = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    const kinds = Map.groupBy(manifests, ({ kind }) => String(kind))
    return Object.fromEntries([...kinds].map(([kind, some]) => [kind, some.reduce((sum, { rows }) => sum + rows, 0)]))
  }
  const all = { changes: count * changesEach, reports: count }
  const isWhole = () => Object.entries(all).every(([kind, rows]) => (archived()[kind] ?? 0) >= rows)
  await expect.poll(isWhole, { timeout: runs(100_000, 900_000) }).toBe(true)
}
