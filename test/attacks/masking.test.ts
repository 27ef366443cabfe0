/** An internal error shows an id, under which the log has the error, and nothing else; on every transport and route. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Database, Session } from '../../src/store/database.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { closed, openSilentSocket, openSocket, transports } from './transports.ts'

type Part = 'reading' | 'writing' | 'asking'

const adminKey = 'an-admin-key-of-this-test-only'
const as = { authorization: `Bearer ${adminKey}` }
const id = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(-\w+)?/

let server: RunningApp
let broken: ReadonlySet<Part> = new Set()

/** As PostgreSQL would say it, with everything in it that must not get out. */
function failure(): Error {
  return Object.assign(new Error('relation "s3cret" does not exist'), {
    code: '42P01',
    detail: 'Key (token)=(s3cret) of /srv/s3cret',
    query: 'select s3cret from devices',
    parameters: ['s3cret'],
  })
}

function breakable(database: Database): Database {
  const unless =
    <Args extends unknown[], Result>(part: Part, work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (broken.has(part)) throw failure()
      return work(...args)
    }
  const session: Session = {
    rows: unless('asking', database.session.rows) as Session['rows'],
    run: unless('asking', database.session.run) as Session['run'],
  }
  return {
    ...database,
    session,
    async snapshot(signal) {
      const snapshot = await database.snapshot(signal)
      return {
        ...snapshot,
        rows: unless('reading', snapshot.rows) as Session['rows'],
        run: unless('reading', snapshot.run) as Session['run'],
      }
    },
    append: unless('writing', database.append) as Database['append'],
    transaction: (work) =>
      database.transaction(async (own) =>
        work({
          ...own,
          rows: unless('writing', own.rows) as Session['rows'],
          run: unless('writing', own.run) as Session['run'],
        }),
      ),
  }
}

beforeAll(async () => {
  const empty = await stores[0]?.create()
  if (!empty) throw new Error('there is no store to test on')
  const on = { ...empty, open: async () => breakable(await empty.open()) }
  server = await startApp({ on, env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'open' } })
})
beforeEach(() => {
  broken = new Set()
})
afterAll(async () => {
  broken = new Set()
  expect((await server.post('/graphql', { query: '{ deployments { totalCount } }' }, as)).status).toBe(200)
  await server.stop()
})

/** The answer has an id, under which the log has what happened; neither has more than it should. */
function expectMasked(told: unknown, before: number): void {
  const text = typeof told === 'string' ? told : JSON.stringify(told)
  expect(text).not.toMatch(/s3cret|select|relation|42P01|\.ts\b|node:|\/srv/)
  const [found] = id.exec(text) ?? []
  expect(found, text).toBeDefined()
  const lines = server.logged.slice(before).filter(({ level }) => level === 'error')
  const line = lines.find(({ errorId, requestId }) => [errorId, requestId].includes(found))
  expect(line).toMatchObject({ error: { code: '42P01', message: 'relation "…" does not exist' } })
  expect(JSON.stringify(server.logged)).not.toContain('s3cret')
}

describe.each(transports)('over $name', ({ name, ask }) => {
  const declare = `mutation { declareDeployments(input: { deployments: [{ deploymentId: "d-1", deviceId: "edge-1" }] }) { __typename } }`

  it.each<[Part, string]>([
    ['reading', '{ deployments { totalCount } }'],
    ['reading', '{ audit { drift { field } } }'],
    ['reading', '{ sinks { id } }'],
    ['writing', declare],
  ])('what fails %s: %s', async (part, query) => {
    broken = new Set([part])
    const before = server.logged.length
    const { data, errors } = await ask(server.url, { query }, as)
    expect(data ?? null).toBeNull()
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL_SERVER_ERROR', id: expect.stringMatching(id) } }])
    expectMasked(errors, before)
  })

  it('who asks cannot be known', async () => {
    broken = new Set(['asking'])
    const before = server.logged.length
    const who = { authorization: `Bearer unknown-${name.length}` }
    if (name === 'WebSocket') {
      const socket = await openSilentSocket(server.url, who)
      socket.send('{"type":"connection_init"}')
      const { code, reason } = await closed(socket)
      expect(code).toBe(1011)
      expectMasked(reason, before)
    } else {
      const { errors } = await ask(server.url, { query: '{ __typename }' }, who)
      expectMasked(errors, before)
    }
  })
})

describe('over streams', () => {
  const [, ...streaming] = transports

  it.each(streaming)('$name: an event that cannot be read', async ({ name, ask }) => {
    const { data } = (await (await server.post('/graphql', { query: '{ revision }' }, as)).json()) as {
      data: { revision: string }
    }
    const report = { deploymentId: `of ${name}`, status: { state: 'installed' }, components: [] }
    const path = `/device/edge-1/deployment/${encodeURIComponent(report.deploymentId)}/status`
    expect((await server.post(path, report)).status).toBe(201)
    broken = new Set(['reading'])
    const before = server.logged.length
    const query = `subscription { changes(after: "${data.revision}") { change { ... on DeploymentStateChanged { deployment { state } } } } }`
    const answer = await ask(server.url, { query }, as)
    expectMasked(answer, before)
  })

  it.each(streaming)('$name: a state that cannot be read', async ({ ask }) => {
    broken = new Set(['reading'])
    const before = server.logged.length
    const answer = await ask(
      server.url,
      { query: 'subscription { deploymentCounts(filter: { states: [FAILED] }) { counts { total } } }' },
      as,
    )
    expectMasked(answer, before)
  })
})

describe('over REST', () => {
  const report = { deploymentId: 'd-2', status: { state: 'installed' }, components: [] }

  it.each<[Part, string, string, unknown?]>([
    ['writing', 'POST', '/device/edge-2/deployment/d-2/status', report],
    ['writing', 'POST', '/api/v1/deployments/d-2/status', { ...report, adoptedManifestVersion: 1 }],
    ['reading', 'GET', '/v1/instance'],
    ['reading', 'GET', '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g/status'],
    ['asking', 'GET', '/v1/instance'],
    ['asking', 'GET', '/metrics'],
  ])('what fails %s: %s %s', async (part, method, path, body) => {
    broken = new Set([part])
    const before = server.logged.length
    const who = part === 'asking' ? { authorization: `Bearer unknown${path}` } : as
    const response = await fetch(server.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...who },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    expect(response.status).toBe(500)
    const problem = await response.json()
    expect(problem).toMatchObject({ status: 500, id: response.headers.get('x-request-id') })
    expectMasked(problem, before)
  })

  it('an item of a backlog', async () => {
    broken = new Set(['writing'])
    const before = server.logged.length
    const response = await server.post('/reports', { reports: [{ ...report, deviceId: 'edge-2' }] })
    expectMasked(await response.text(), before)
  })

  it('says when it is not ready, and no more', async () => {
    broken = new Set(['asking', 'reading'])
    const response = await fetch(`${server.url}/readyz`)
    expect(await response.text()).not.toMatch(/s3cret|select|relation/)
  })

  it('does not let a client choose an id that is anything else', async () => {
    broken = new Set(['writing'])
    const response = await server.post('/device/edge-2/deployment/d-2/status', report, { 'x-request-id': '"><script>' })
    expect(await response.text()).not.toContain('script')
  })
})

it('leaves open sockets alone when one operation fails', async () => {
  const socket = await openSocket(server.url, as)
  broken = new Set(['reading'])
  const [, , webSocket] = transports
  await webSocket?.ask(server.url, { query: '{ deployments { totalCount } }' }, as)
  expect(socket.readyState).toBe(socket.OPEN)
  socket.terminate()
})
