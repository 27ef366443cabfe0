/** What pages of other sites can do with the session of the person before the screen: the same on every route and transport. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type Store, stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const adminKey = 'an-admin-key-for-tests-only'
const evil = 'https://evil.example'
const board = 'https://board.example'
const makeKey = 'mutation { createApiKey(input: { name: "theirs", roles: [ADMIN] }) { __typename } }'

type Headers = Readonly<Record<string, string>>

/** As it is written: fetch would set some of these headers itself. */
function send(url: string, method: string, headers: Headers, body = ''): Promise<{ status: number; cookie: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent: false, headers: { 'content-type': 'application/json', ...headers } })
    sent.on('error', reject).on('response', (response) => {
      const answer = { status: response.statusCode ?? 0, cookie: response.headers['set-cookie']?.[0] ?? '' }
      // An event stream has no end.
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        resolve(answer)
        return response.destroy()
      }
      response.resume().on('end', () => resolve(answer))
    })
    sent.end(body)
  })
}

/** The first answer to an operation, or the code that the socket is closed with. */
function overSocket(url: string, headers: Headers, query: string, payload: object = {}): Promise<number> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers })
  return new Promise<number>((resolve, reject) => {
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })))
    socket.on('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode))
    socket.on('error', reject).on('close', resolve)
    socket.on('message', (message) => {
      const { type } = JSON.parse(String(message))
      if (type === 'connection_ack') socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
      if (type === 'next') resolve(200)
    })
  }).finally(() => socket.terminate())
}

const roads: Readonly<Record<string, (url: string, headers: Headers) => Promise<number>>> = {
  'POST /graphql': async (url, headers) =>
    (await send(`${url}/graphql`, 'POST', headers, JSON.stringify({ query: makeKey }))).status,
  'GET /graphql': async (url, headers) => (await send(`${url}/graphql?query={revision}`, 'GET', headers)).status,
  'an event stream': async (url, headers) =>
    (
      await send(`${url}/graphql?query=subscription{deploymentCounts{cursor}}`, 'GET', {
        ...headers,
        accept: 'text/event-stream',
      })
    ).status,
  'a WebSocket': (url, headers) => overSocket(url, headers, makeKey),
  'GET /metrics': async (url, headers) => (await send(`${url}/metrics`, 'GET', headers)).status,
  'POST /mcp': async (url, headers) => {
    const accept = 'application/json, text/event-stream'
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    return (await send(`${url}/mcp`, 'POST', { ...headers, accept }, body)).status
  },
  'GET /session': async (url, headers) => (await send(`${url}/session`, 'GET', headers)).status,
}

async function signIn(store: Store, env: Record<string, string>): Promise<{ app: RunningApp; cookie: string }> {
  const app = await startApp({ store, env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey, ...env } })
  const { cookie } = await send(`${app.url}/session`, 'POST', { authorization: `Bearer ${adminKey}` })
  return { app, cookie: cookie.split(';')[0] ?? '' }
}

describe.each(stores)('a session, when any page may ask (CORS_ORIGINS=*), on $name', (store) => {
  let app: RunningApp
  let cookie: string
  beforeAll(async () => {
    const signedIn = await signIn(store, { CORS_ORIGINS: `*,${board}` })
    app = signedIn.app
    cookie = signedIn.cookie
  })
  afterAll(() => app.stop())

  it.each(Object.entries(roads))('is of no use to a page of another site over %s', async (_, ask) => {
    for (const origin of [evil, 'null']) expect([403, 4403]).toContain(await ask(app.url, { cookie, origin }))
  })

  it.each(Object.entries(roads))('is of use to our own page and to one that is named over %s', async (_, ask) => {
    for (const origin of [app.url, board]) expect(await ask(app.url, { cookie, origin })).toBe(200)
  })

  it.each(Object.entries(roads))('is not missed by a page that brings a token over %s', async (_, ask) => {
    expect(await ask(app.url, { cookie, origin: evil, authorization: `Bearer ${adminKey}` })).toBe(200)
  })

  it('is neither opened nor ended by a page of another site', async () => {
    const session = `${app.url}/session`
    const credential = JSON.stringify({ credential: adminKey })
    const both = { authorization: `Bearer ${adminKey}`, cookie }
    for (const origin of [evil, 'null'])
      for (const headers of [{ cookie }, both, {}])
        for (const method of ['DELETE', 'POST'])
          expect(await send(session, method, { ...headers, origin }, method === 'POST' ? credential : '')).toEqual({
            status: 403,
            cookie: '',
          })
    expect((await send(session, 'GET', { cookie })).status).toBe(200)
    const opened = await send(session, 'POST', { origin: board }, credential)
    const [another = ''] = opened.cookie.split(';')
    expect((await send(session, 'DELETE', { cookie: another, origin: app.url })).status).toBe(200)
    expect((await send(session, 'GET', { cookie: another })).status).toBe(401)
  })
})

describe.each(stores)('a session over https, on $name', (store) => {
  const https = { 'x-forwarded-proto': 'https' }

  it.each([
    ['PUBLIC_URL says so', { PUBLIC_URL: 'https://rollcall.example' }, {}],
    ['a trusted proxy says so', { TRUSTED_PROXIES: '127.0.0.1' }, https],
  ])('is known by the guarded name alone where %s', async (_, env, headers) => {
    const { app, cookie: plain } = await signIn(store, env)
    const guarded = (
      await send(`${app.url}/session`, 'POST', { ...headers, authorization: `Bearer ${adminKey}` })
    ).cookie.split(';')[0] as string
    expect(guarded).toMatch(/^__Host-rollcall=/)
    const [, value = ''] = guarded.split('=')
    for (const [road, ask] of Object.entries(roads)) {
      const using = (cookie: string) => ask(app.url, { ...headers, cookie })
      // As another host of the domain, or anyone on a plain connection, can set it.
      expect([road, await using(`rollcall=theirs; ${guarded}`)]).toEqual([road, 200])
      expect([road, await using(`${guarded}; rollcall=theirs`)]).toEqual([road, 200])
      expect([401, 4403]).toContain(await using(`rollcall=${value}`))
    }
    if (plain.startsWith('rollcall='))
      expect((await send(`${app.url}/session`, 'GET', { cookie: plain })).status).toBe(200)
    await app.stop()
  })

  it('is of no use to a page that came in the clear', async () => {
    const { app } = await signIn(store, { TRUSTED_PROXIES: '127.0.0.1' })
    const opened = await send(`${app.url}/session`, 'POST', { ...https, authorization: `Bearer ${adminKey}` })
    const [cookie = ''] = opened.cookie.split(';')
    const { host } = new URL(app.url)
    for (const [road, ask] of Object.entries(roads)) {
      expect([403, 4403]).toContain(await ask(app.url, { ...https, cookie, origin: `http://${host}` }))
      expect([road, await ask(app.url, { ...https, cookie, origin: `https://${host}` })]).toEqual([road, 200])
    }
    await app.stop()
  })

  it('is of use to our page behind a proxy that asks us by another name', async () => {
    const { app, cookie } = await signIn(store, { PUBLIC_URL: 'https://rollcall.example/fleet' })
    for (const [road, ask] of Object.entries(roads))
      expect([road, await ask(app.url, { cookie, origin: 'https://rollcall.example' })]).toEqual([road, 200])
    await app.stop()
  })
})

describe.each(stores)('a page of a name that resolves to this machine, on $name', (store) => {
  const reporting = JSON.stringify({ deploymentId: 'd', status: { state: 'installing' }, components: [] })
  const asked: typeof roads = {
    ...roads,
    'a report': async (url, headers) =>
      (await send(`${url}/device/d/deployment/d/status`, 'POST', headers, reporting)).status,
    'a manifest': async (url, headers) => (await send(`${url}/api/v1/clients/d/deployments`, 'GET', headers)).status,
    'an export': async (url, headers) => (await send(`${url}/export/devices`, 'GET', headers)).status,
    'the page': async (url, headers) => (await send(url, 'GET', headers)).status,
  }
  /** What a browser sends for a page of this host. The port is that of the server. */
  const pageOf = (host: string, port: number): Headers => ({
    host: `${host}:${port}`,
    origin: `http://${host}:${port}`,
  })

  it('reaches nothing where no credential is needed', async () => {
    for (const env of [{}, { API_AUTH: 'key', API_ADMIN_KEY: adminKey }, { DEVICE_AUTH: 'token' }]) {
      const app = await startApp({ store, env })
      for (const [road, ask] of Object.entries(asked))
        for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example'])
          expect([400, 403], road).toContain(await ask(app.url, pageOf(host, app.port)))
      await app.stop()
    }
  })

  it('reaches everything under a name of the machine itself, or that of PUBLIC_URL', async () => {
    const app = await startApp({ store, env: { PUBLIC_URL: 'http://rollcall.example' } })
    for (const [road, ask] of Object.entries(asked))
      for (const host of [
        '127.0.0.1',
        '[::1]',
        'localhost',
        'host.docker.internal',
        'rollcall.test',
        'rollcall.example',
      ])
        expect([200, 201, 404], `${road} ${host}`).toContain(await ask(app.url, pageOf(host, app.port)))
    await app.stop()
  })

  it('is refused by credentials alone where they are needed', async () => {
    const app = await startApp({ store, env: { DEVICE_AUTH: 'token', API_AUTH: 'key', API_ADMIN_KEY: adminKey } })
    const authorization = `Bearer ${adminKey}`
    for (const road of ['GET /graphql', 'GET /metrics', 'an export'])
      expect([road, await asked[road]?.(app.url, { host: 'fleet.internal', authorization })]).toEqual([road, 200])
    await app.stop()
  })
})

describe('a cookie that is there twice', () => {
  it('is not believed: another site may have set one', async () => {
    const [store] = stores
    if (!store) throw new Error('there is no store to test on')
    const { app, cookie } = await signIn(store, {})
    expect(await roads['GET /session']?.(app.url, { cookie })).toBe(200)
    expect(await roads['GET /session']?.(app.url, { cookie: `${cookie}; rollcall=theirs` })).toBe(401)
    expect(await roads['GET /session']?.(app.url, { cookie: `rollcall=theirs; ${cookie}` })).toBe(401)
    await app.stop()
  })
})
