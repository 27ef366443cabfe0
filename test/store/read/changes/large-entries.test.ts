/** A log of the largest valid reports: what one reading returns is bounded by bytes, and nothing is left out. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { createBacklog } from '../../../../src/feed/backlog.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import { readLog } from '../../../../src/store/read/changes/changes.ts'
import { lastingStores } from '../../../support/databases/lasting-stores.ts'
import { postgresStores } from '../../../support/databases/stores.ts'
import { runs } from '../../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../../support/servers/app.ts'
import { startProgram } from '../../../support/servers/program.ts'

const reports = 36
/** The largest errors that one report may have: five components, each with the longest message. */
const report = (number: number) => ({
  deviceId: 'edge-1',
  deploymentId: `d-${number}`,
  status: { state: 'failed', error: { code: 'E', message: 'failed' } },
  components: Array.from({ length: 5 }, (_, n) => ({
    name: `web-${n}`,
    state: 'failed',
    error: { code: 'E', message: String.fromCharCode(97 + n).repeat(65_000) },
  })),
})
/** A deployment and five components. */
const changesEach = 6
const bound = (4 << 20) + (2 << 20)

async function fill(post: RunningApp['post'], count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    const path = `/device/edge-1/deployment/d-${number}/status`
    expect((await post(path, report(number))).status).toBe(201)
  }
}

describe.each(lastingStores)('a log of large entries on $name', (store) => {
  it('is read in parts of bounded bytes, also as the backlog of a subscriber', async () => {
    const { on: empty } = await store.create()
    const server = await startApp({ on: empty })
    await fill(server.post, reports)
    await server.app.close()
    const database = await empty.open()
    onTestFinished(async () => {
      await database.close()
      await empty.drop()
    })
    const head = await readHead(database.session)
    const first = head.revision - reports * changesEach
    const revisions: number[] = []
    for (let after = first; after < head.revision; ) {
      const changes = await readLog(database.session, after, 2_048)
      expect(JSON.stringify(changes).length).toBeLessThan(bound)
      revisions.push(...changes.map(({ revision }) => revision))
      after = revisions.at(-1) ?? expect.unreachable()
    }
    expect(revisions).toEqual(Array.from({ length: reports * changesEach }, (_, n) => first + n + 1))
    const hub = { last: head.revision, recent: () => null, subscribe: () => () => {} }
    const read = (after: number, limit: number, until?: number) => readLog(database.session, after, limit, until)
    const backlog = createBacklog({ head: async () => head, read }, hub as never)
    const received: number[] = []
    for (let after = first; after < head.revision; ) {
      const { changes, upTo } = await backlog(after)
      expect(JSON.stringify(changes).length).toBeLessThan(bound)
      expect(upTo).toBeGreaterThan(after)
      received.push(...changes.map(({ revision }) => revision))
      after = upTo
    }
    expect(received).toEqual(revisions)
  })
})

describe.each(postgresStores)('a server with a heap of 512 MiB on $name', (store) => {
  it('answers four exports and four subscribers of a log of large entries at once', async () => {
    const count = runs(144, 1_512)
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const filling = await startApp({ on: empty })
    await fill(filling.post, count)
    await filling.app.close()
    const program = startProgram({ DATABASE_URL: empty.config.url ?? '', NODE_OPTIONS: '--max-old-space-size=512' })
    onTestFinished(() => program.dispose())
    const url = await program.listening
    async function exportAll(): Promise<number> {
      const answer = await fetch(`${url}/export/changes?format=ndjson`)
      let rows = 0
      for await (const chunk of answer.body ?? []) for (const byte of chunk) if (byte === 10) rows += 1
      return rows
    }
    async function subscribe(): Promise<number> {
      const query = encodeURIComponent('subscription { changes(after: "0") { cursor change { kind } } }')
      const abort = new AbortController()
      const answer = await fetch(`${url}/graphql?query=${query}`, {
        headers: { accept: 'text/event-stream' },
        signal: abort.signal,
      })
      let changes = 0
      for await (const chunk of (answer.body ?? []).values() as AsyncIterable<Uint8Array>) {
        changes += Buffer.from(chunk).toString('latin1').split('"kind"').length - 1
        if (changes >= count * changesEach) break
      }
      abort.abort()
      return changes
    }
    const four = Array.from({ length: 4 }, () => null)
    const answers = await Promise.all([...four.map(() => exportAll()), ...four.map(() => subscribe())])
    expect(answers.map((rows) => rows >= count * changesEach)).toEqual(answers.map(() => true))
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })
})
