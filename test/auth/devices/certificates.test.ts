import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { spiffeIdOf } from '../../../src/auth/devices/spiffe.ts'
import { parseConfig } from '../../../src/config.ts'
import { readTls } from '../../../src/rest/tls.ts'
import { type RunningApp, startApp } from '../../support/app.ts'
import { stores } from '../../support/stores.ts'
import { type Authority, type Certificate, type Certificates, clientCert, createCertificates } from './certificates.ts'
import { bodyOf, lastHeard, type Registration, refusals, registerAll, revoke, statusOf } from './devices.ts'

const idOf = (client: string, domain = 'fleet.example') => `spiffe://${domain}/margo/wfm/north/client/${client}`
const named = (client: string, domain?: string) => ({ names: `URI:${idOf(client, domain)}` })

let certificates: Certificates
let fleet: Authority
let strangers: Authority
let server: Certificate
beforeAll(async () => {
  certificates = await createCertificates()
  fleet = await certificates.authority('the fleet')
  strangers = await certificates.authority('somebody')
  server = await fleet.issue('localhost', { names: 'DNS:localhost,IP:127.0.0.1' })
})
afterAll(() => certificates.remove())

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly body: any
}

/** One request over TLS, with a certificate or without. */
function send(
  app: RunningApp,
  path: string,
  body: unknown,
  client: Certificate | null,
  headers: Record<string, string> = {},
  agent: Agent | false = false,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const identity = client ? { cert: client.cert, key: client.key } : {}
    const options = { method: 'POST', agent, ca: fleet.cert, ...identity }
    const sent = request(`${app.url}${path}`, {
      ...options,
      headers: { 'content-type': 'application/json', ...headers },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text && JSON.parse(text) })
      })
    })
    sent.end(JSON.stringify(body))
  })
}

const overTls = (app: RunningApp): RunningApp => ({
  ...app,
  async query(document, variables = {}) {
    const { body } = await send(app, '/graphql', { query: document, variables }, null)
    if (body.errors) throw new Error(body.errors[0].message)
    return body.data
  },
})

describe.each(stores)('mutual TLS on $name', (store) => {
  let app: RunningApp
  const register = (...devices: Registration[]) => registerAll(overTls(app), devices)
  const report = async (reporter: string, client: Certificate | null, more: object = {}) =>
    (await send(app, statusOf(reporter), bodyOf('pump', more), client)).status
  beforeAll(async () => {
    const env = {
      DEVICE_AUTH: 'mtls',
      DEVICE_PROVISION: 'true',
      SPIFFE_TRUST_DOMAIN: 'fleet.example',
      TLS_CERT: server.files.cert,
      TLS_KEY: server.files.key,
      TLS_CLIENT_CA: fleet.files.cert,
    }
    app = await startApp({ store, env })
  })
  afterAll(() => app.stop())

  it('lets a client report by the SPIFFE id of its certificate, from the first contact on, and nobody else', async () => {
    const [press, other] = [await fleet.issue('press', named('press')), await fleet.issue('other', named('other'))]
    expect(app.url).toMatch(/^https:/)
    expect(await report('press', press)).toBe(201)
    expect(await report('press', press, { deviceId: 'press/part' })).toBe(201)
    expect(await report('other', other)).toBe(201)
    expect(await report('other', press)).toBe(403)
    expect(await report('press', press, { deviceId: 'other' })).toBe(403)
    const unnamed = '/api/v1/deployments/by-certificate/status'
    const body = { ...bodyOf('by-certificate'), adoptedManifestVersion: 1 }
    expect((await send(app, unnamed, body, press)).status).toBe(200)
    const found = await overTls(app).query('{ deployment(deploymentId: "by-certificate") { reporter } }')
    expect(found.deployment.reporter).toBe('press')
    expect(await lastHeard(overTls(app), 'press')).not.toBeNull()
  })

  it('is needed by devices, and by nobody else', async () => {
    const { status, headers, body } = await send(app, statusOf('press'), bodyOf(), null)
    expect([status, headers['www-authenticate']]).toEqual([401, 'ClientCertificate realm="rollcall"'])
    expect(body.error).toContain('client certificate')
    expect(await overTls(app).query('{ revision }')).toHaveProperty('revision')
  })

  it('does not take a certificate that somebody else signed, whatever it says', async () => {
    const before = await refusals(app, 'mtls', 'untrusted')
    expect(await report('press', await strangers.issue('press', named('press')))).toBe(401)
    expect(await refusals(app, 'mtls', 'untrusted')).toBe(before + 1)
  })

  it.each([
    ['no name', undefined],
    ['no URI', 'DNS:press.example'],
    ['a URI of another kind', 'URI:https://fleet.example/margo/wfm/north/client/press'],
    ['two of them', `URI:${idOf('press')},URI:${idOf('other')}`],
    ['one without a path', 'URI:spiffe://fleet.example'],
    ['one that leads up', 'URI:spiffe://fleet.example/margo/wfm/../client/press'],
  ])('does not take a certificate with %s', async (_, names) => {
    expect(await report('press', await fleet.issue('press', names ? { names } : {}))).toBe(401)
  })

  it('does not take an authority for a client', async () => {
    expect(await report('press', await fleet.issue('press', { ...named('press'), isAuthority: true }))).toBe(401)
  })

  it('knows no client of another trust domain, or of another form, unless it is registered', async () => {
    const foreign = await fleet.issue('foreign', named('foreign', 'elsewhere.example'))
    const formless = await fleet.issue('formless', { names: 'URI:spiffe://fleet.example/ns/default/sa/formless' })
    expect([await report('foreign', foreign), await report('formless', formless)]).toEqual([403, 403])
    await register(
      { deviceId: 'foreign', spiffeIds: [idOf('foreign', 'elsewhere.example')] },
      { deviceId: 'renamed', spiffeIds: ['spiffe://fleet.example/ns/default/sa/formless'] },
    )
    expect([await report('foreign', foreign), await report('renamed', formless)]).toEqual([201, 201])
    expect(await report('formless', formless)).toBe(403)
  })

  it('takes all that a new client says at once', async () => {
    const eager = await fleet.issue('eager', named('eager'))
    expect(await Promise.all(Array.from({ length: 5 }, () => report('eager', eager)))).toEqual(Array(5).fill(201))
  })

  it('gives a name to who comes first under it', async () => {
    const [first, second] = [
      await fleet.issue('first', named('twin')),
      await fleet.issue('second', { names: 'URI:spiffe://fleet.example/margo/wfm/south/client/twin' }),
    ]
    expect(await report('twin', first)).toBe(201)
    expect(await report('twin', second)).toBe(403)
    expect(await Promise.all([report('twin', first), report('twin', second)])).toEqual([201, 403])
  })

  it('ends when its device is revoked, also on a connection that stays', async () => {
    const stolen = await fleet.issue('stolen', named('stolen'))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async () => (await send(app, statusOf('stolen'), bodyOf(), stolen, {}, agent)).status
    expect(await ask()).toBe(201)
    await revoke(overTls(app), 'stolen')
    expect(await ask()).toBe(403)
    // Registered anew with another certificate, it is known by that one only.
    await register({ deviceId: 'stolen', spiffeIds: [idOf('stolen-2')] })
    expect(await ask()).toBe(403)
    agent.destroy()
  })

  it('does not believe a certificate that is only told of', async () => {
    const press = await fleet.issue('press', named('press'))
    expect((await send(app, statusOf('press'), bodyOf(), null, clientCert(press))).status).toBe(401)
  })

  it('is for streams, too', async () => {
    const socket = new WebSocket(`${app.url.replace('https', 'wss')}/graphql`, 'graphql-transport-ws', {
      ca: fleet.cert,
    })
    const acknowledged = new Promise((resolve, reject) => {
      socket.on('message', (message) => resolve(JSON.parse(String(message)))).on('error', reject)
    })
    socket.on('open', () => socket.send('{"type":"connection_init"}'))
    expect(await acknowledged).toMatchObject({ type: 'connection_ack' })
    socket.close()
  })

  it('answers plain HTTP with what is wrong, and nothing else', async () => {
    const answer = await fetch(`http://127.0.0.1:${app.port}/healthz`)
    expect([answer.status, await answer.json()]).toMatchObject([400, { detail: expect.stringMatching(/https:\/\//) }])
  })
})

const proxied = {
  DEVICE_AUTH: 'mtls',
  TRUSTED_PROXIES: '127.0.0.1',
  CLIENT_CERT_HEADER: 'overwritten',
  SPIFFE_TRUST_DOMAIN: 'fleet.example',
}

describe.each(stores)('a certificate that a proxy forwards, on $name', (store) => {
  let app: RunningApp
  beforeAll(async () => {
    const env = proxied
    app = await startApp({ store, env })
    await registerAll(app, [{ deviceId: 'press' }, { deviceId: 'other' }])
  })
  afterAll(() => app.stop())

  const report = (reporter: string, headers: Record<string, string>, more: object = {}) =>
    app.post(statusOf(reporter), bodyOf('pump', more), headers)

  it('lets a registered client report, and no other', async () => {
    const headers = clientCert(await fleet.issue('press', named('press')))
    expect((await report('press', headers)).status).toBe(201)
    expect((await report('other', headers)).status).toBe(403)
    expect((await report('press', {})).status).toBe(401)
    const unknown = await report('unknown', clientCert(await fleet.issue('unknown', named('unknown'))))
    expect([unknown.status, (await unknown.json()).error]).toEqual([403, expect.stringContaining('DEVICE_PROVISION')])
    expect((await app.query('{ device(deviceId: "unknown") { deviceId } }')).device).toBeNull()
  })

  it('may be escaped as nginx does', async () => {
    const escaped = (certificate: Certificate) => ({ 'client-cert': encodeURIComponent(certificate.cert) })
    expect((await report('press', escaped(await fleet.issue('press', named('press'))))).status).toBe(201)
    expect((await report('press', escaped(await fleet.issue('other', named('other'))))).status).toBe(403)
  })

  it.each([
    '',
    ':',
    ':AAAA:',
    '"AAAA"',
    'AAAA',
    ':!:',
    '-----BEGIN%20CERTIFICATE-----%0AAAAA%0A-----END%20CERTIFICATE-----',
    '-----BEGIN%20CERTIFICATE-----%',
  ])('that is none is refused: %s', async (text) => {
    expect((await report('press', { 'client-cert': text })).status).toBe(401)
  })

  it('that is there twice is refused', async () => {
    const [one, two] = [await fleet.issue('press', named('press')), await fleet.issue('other', named('other'))]
    const both = `${clientCert(one)['client-cert']}, ${clientCert(two)['client-cert']}`
    expect((await report('press', { 'client-cert': both })).status).toBe(401)
  })

  it('ends when its device is revoked', async () => {
    const headers = clientCert(await fleet.issue('stolen', named('stolen')))
    await registerAll(app, [{ deviceId: 'stolen' }])
    expect((await report('stolen', headers)).status).toBe(201)
    await revoke(app, 'stolen')
    expect((await report('stolen', headers)).status).toBe(403)
  })
})

describe('a certificate that somebody forwards who is not trusted', () => {
  it('is refused', async () => {
    const app = await startApp({ env: { ...proxied, DEVICE_AUTH: 'open,mtls', TRUSTED_PROXIES: '10.0.0.0/8' } })
    const headers = clientCert(await fleet.issue('press', named('press')))
    const response = await app.post(statusOf('press'), bodyOf(), headers)
    expect([response.status, (await response.json()).error]).toEqual([401, expect.stringContaining('TRUSTED_PROXIES')])
    await app.stop()
  })

  it('is refused from a trusted proxy, too, which is not said to overwrite it', async () => {
    const { cert, key } = server.files
    const tls = { TLS_CERT: cert, TLS_KEY: key, TLS_CLIENT_CA: fleet.files.cert }
    const app = await startApp({ env: { ...proxied, ...tls, CLIENT_CERT_HEADER: 'refused' } })
    await registerAll(overTls(app), [{ deviceId: 'press' }])
    const press = await fleet.issue('press', named('press'))
    const forwarded = await send(app, statusOf('press'), bodyOf(), null, clientCert(press))
    expect([forwarded.status, forwarded.body.error]).toEqual([401, expect.stringContaining('CLIENT_CERT_HEADER')])
    expect((await send(app, statusOf('press'), bodyOf(), press)).status).toBe(201)
    await app.stop()
  })
})

describe('a certificate whose time is over', () => {
  it('is refused, also when a proxy forwards it', async () => {
    let now = Date.now()
    const env = proxied
    const app = await startApp({ env, clock: () => now })
    await registerAll(app, [{ deviceId: 'press' }])
    const headers = clientCert(await fleet.issue('press', named('press')))
    now = Date.now()
    expect((await app.post(statusOf('press'), bodyOf(), headers)).status).toBe(201)
    now += 2 * 24 * 60 * 60 * 1000
    expect((await app.post(statusOf('press'), bodyOf(), headers)).status).toBe(401)
    await app.stop()
  })
})

describe('the names of a certificate', () => {
  it('cannot hide a SPIFFE id in another one', () => {
    const id = idOf('press')
    expect(spiffeIdOf(`DNS:a, URI:${id}`)).toBe(id)
    expect(spiffeIdOf(`DNS:"a, URI:${id}"`)).toBeNull()
    expect(spiffeIdOf(`DNS:"a\\", URI:${id}"`)).toBeNull()
    expect(spiffeIdOf(`URI:"${id}, x"`)).toBeNull()
    expect(spiffeIdOf(undefined)).toBeNull()
  })
})

describe('the files of TLS', () => {
  const problemsOf = async (env: Record<string, string>): Promise<readonly string[]> => {
    const { tls } = parseConfig(env).server
    if (!tls) throw new Error('TLS is not configured')
    return readTls(tls).then(
      () => [],
      (error: { problems: readonly string[] }) => error.problems,
    )
  }

  it('must be there and belong together, which is said at once', async () => {
    const { cert, key } = server.files
    expect(await problemsOf({ TLS_CERT: cert, TLS_KEY: key, TLS_CLIENT_CA: fleet.files.cert })).toEqual([])
    expect(await problemsOf({ TLS_CERT: '/none/c', TLS_KEY: '/none/k', TLS_CLIENT_CA: '/none/a' })).toEqual([
      'TLS_CERT cannot be read: /none/c (ENOENT)',
      'TLS_KEY cannot be read: /none/k (ENOENT)',
      'TLS_CLIENT_CA cannot be read: /none/a (ENOENT)',
    ])
    expect(await problemsOf({ TLS_CERT: cert, TLS_KEY: fleet.files.key, TLS_CLIENT_CA: key })).toEqual([
      expect.stringContaining('TLS_CERT and TLS_KEY must be'),
      expect.stringContaining('TLS_CLIENT_CA must be'),
    ])
  })
})
