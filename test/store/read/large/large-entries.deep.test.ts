/** A log of the largest valid reports: what one reading returns is bounded by bytes, and nothing is left out. */
import { beforeAll, describe, expect, it } from 'vitest'
import { presentInParts } from '../../../../src/api/mqtt/present.ts'
import { createBacklog } from '../../../../src/feed/backlog.ts'
import { heldTexts } from '../../../../src/store/connection/held-texts.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import type { Database } from '../../../../src/store/database.ts'
import { readLog } from '../../../../src/store/read/changes/changes.ts'
import { readDeployments } from '../../../../src/store/read/export/deployments.ts'
import { noteDelivery, wantDelivery, wantedDeliveries } from '../../../../src/store/sinks/deliveries.ts'
import { deploymentsAfter } from '../../../../src/store/sinks/published.ts'
import { partBytes } from '../../../../src/store/sql/parts.ts'
import { lastingStores } from '../../../support/databases/lasting-stores.ts'
import { startApp } from '../../../support/servers/app.ts'
import { changesEach, fill, labels, largeDeployment } from './largest-reports.ts'

const reports = 36
/** Small changes of devices with long labels. */
const [devices, changesOfDevice] = [12, 30]

/** What one part may have: it ends with the row that exceeds the bound. */
function expectBounded(part: unknown): void {
  expect(JSON.stringify(part).length).toBeLessThan(partBytes + 3 * largeDeployment)
}

const histories = [97, 98, 99, 100].map((size) => `h${size}: history(first: ${size}) { nodes { kind } }`)
const documents = {
  states: '{ deployments(first: 100, filter: { deviceIds: ["edge-1"] }) { nodes { state error { code } } } }',
  history:
    '{ deployments(first: 100, filter: { deviceIds: ["edge-1"] }) { nodes { history(first: 100) { nodes { kind } } } } }',
  histories: `{ deployments(first: 100, filter: { deviceIds: ["edge-1"] }) { nodes { ${histories.join(' ')} } } }`,
}

describe.each(lastingStores)('a log of large entries on $name', (store) => {
  let database: Database
  const answers = new Map<string, { readonly data?: unknown; readonly errors?: readonly unknown[] }>()
  let refused: Response
  beforeAll(async () => {
    const { on: empty } = await store.create()
    const server = await startApp({ on: empty })
    await fill(server.post, reports)
    const registered = Array.from({ length: devices }, (_, n) => ({ deviceId: `gw-${n}`, labels }))
    const { registerDevices } = await server.query(
      'mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }',
      { devices: registered },
    )
    expect(registerDevices).toEqual({ __typename: 'RegisterDevicesSuccess' })
    for (let number = 0; number < devices * changesOfDevice; number += 1) {
      const [deviceId, deploymentId] = [`gw-${number % devices}`, `small-${number}`]
      const body = { deviceId, deploymentId, status: { state: 'installed' }, components: [] }
      expect((await server.post(`/device/${deviceId}/deployment/${deploymentId}/status`, body)).status).toBe(201)
    }
    for (const [name, document] of Object.entries(documents))
      answers.set(name, await (await server.post('/graphql', { query: document })).json())
    const others = heldTexts.hold()
    others.add(Number.MAX_SAFE_INTEGER / 2)
    refused = await server.post('/graphql', { query: documents.history.replace('{', '{ other: __typename ') })
    others.release()
    await server.app.close()
    database = await empty.open()
    return async () => {
      await database.close()
      await empty.drop()
    }
  })

  it('is read in parts of bounded bytes, also as the backlog of a subscriber', async () => {
    const head = await readHead(database.session)
    const revisions: number[] = []
    const labelled = new Set<number | null>()
    for (let after = head.epochBase; after < head.revision; ) {
      const changes = await readLog(database.session, after, 2_048)
      // Each has the labels of its device, and those of one device are the same array.
      expectBounded([
        changes.map((change) => ({ ...change, labels: [] })),
        [...new Set(changes.map((one) => one.labels))],
      ])
      for (const { targetName, targetKey, labels: own } of changes)
        if (targetName?.startsWith('gw-')) {
          expect(own).toHaveLength(labels.length)
          labelled.add(targetKey)
        }
      revisions.push(...changes.map(({ revision }) => revision))
      after = revisions.at(-1) ?? expect.unreachable()
    }
    expect(revisions).toEqual(Array.from({ length: head.revision - head.epochBase }, (_, n) => head.epochBase + n + 1))
    expect(labelled.size).toBe(devices)
    const hub = { last: head.revision, recent: () => null, subscribe: () => () => {} }
    const read = (after: number, limit: number, until?: number) => readLog(database.session, after, limit, until)
    const backlog = createBacklog({ head: async () => head, read }, hub as never)
    const received: number[] = []
    for (let after = head.epochBase; after < head.revision; ) {
      const { changes, upTo } = await backlog(after)
      expectBounded(changes.map((change) => ({ ...change, labels: [] })))
      expect(upTo).toBeGreaterThan(after)
      received.push(...changes.map(({ revision }) => revision))
      after = upTo
    }
    expect(received).toEqual(revisions)
    expect(revisions.length).toBeGreaterThan(reports * changesEach)
  })

  it('has deployments that are exported and published in parts of bounded bytes', async () => {
    const { session } = database
    const found = await deploymentsAfter(session, 0, 1_000)
    const published: string[] = []
    let parts = 0
    for await (const part of presentInParts(session, 'rollcall', found)) {
      expectBounded(part)
      published.push(...part.map(({ payload }) => JSON.parse(payload).deploymentId))
      parts += 1
    }
    expect(published).toEqual(found.map(({ deploymentId }) => deploymentId))
    expect(parts).toBeGreaterThan(2)
    const head = await readHead(session)
    const exported: string[] = []
    for (let after: number | null = 0; after !== null; ) {
      const part: Awaited<ReturnType<typeof readDeployments>> = await readDeployments(
        session,
        head.revision,
        {},
        after,
        500,
      )
      expectBounded(part.rows)
      expect(part.isCut).toBe(part.rows.length < found.length - exported.length)
      for (const { deploymentId, components } of part.rows) {
        expect(components).toHaveLength(deploymentId.startsWith('d-') ? 5 : 0)
        exported.push(deploymentId)
      }
      after = part.next
    }
    expect(exported).toEqual(published)
  })

  it('answers queries while they read a bounded number of characters, in all of their statements together', () => {
    for (const name of ['states', 'history'])
      expect(answers.get(name)).toEqual({
        data: { deployments: { nodes: expect.toSatisfy((all) => all.length === reports) } },
      })
    const message = expect.stringMatching(/the stored texts .* have more than 33554432 characters: request fewer rows/)
    const extensions = { code: 'LIMIT_EXCEEDED', limit: 'answerSize', max: 33554432 }
    expect(answers.get('histories')).toEqual({ data: null, errors: [expect.objectContaining({ message, extensions })] })
  })

  it('refuses a query with 503 while all queries together hold too many characters', async () => {
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true])
    const extensions = { code: 'UNAVAILABLE', limit: 'bufferedBytes', retryAfterSeconds: 2, retryable: true }
    const message = expect.stringContaining('read too many stored texts at once: retry, or request fewer rows')
    expect(await refused.json()).toEqual({ errors: [{ message, extensions }] })
  })

  it('has deliveries that are sent again in parts of bounded bytes', async () => {
    const { session } = database
    const [sink] = await session.run<{ key: number }>(
      `insert into sinks (kind, name, url, cursor, created_at) values ('WEBHOOK', 'w', 'http://localhost', 0, now()) returning key`,
    )
    const sinkKey = sink?.key ?? 0
    const body = 'x'.repeat(65_000)
    for (let n = 0; n < 90; n += 1)
      await noteDelivery(
        session,
        { sinkKey, eventId: `${n}`, revision: n, body, lastStatus: 500, lastError: 'no' },
        0,
        1_000,
      )
    for (const { key } of await session.run<{ key: number }>('select key from deliveries'))
      await wantDelivery(session, key)
    const wanted = await wantedDeliveries(session, [sinkKey])
    expectBounded(wanted)
    expect(wanted.length).toBeGreaterThan(10)
    expect(wanted.map(({ eventId }) => eventId)).toEqual(wanted.map((_, n) => `${n}`))
  })
})
