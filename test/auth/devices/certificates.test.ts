/** Devices that authenticate with a client certificate over TLS. */
import { Agent } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { spiffeIdOf } from '../../../src/api/auth/devices/spiffe.ts'
import { readTls } from '../../../src/api/rest/tls/tls-files.ts'
import { parseConfig } from '../../../src/server/config/config.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Certificate, clientCert } from './certificates.ts'
import { bodyOf, lastHeard, type Registration, refusals, registerAll, revoke, statusOf } from './devices.ts'
import { fleet, idOf, named, overTls, send, server, strangers, useCertificates } from './tls-requests.ts'

useCertificates()

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

  it('lets a client report by the SPIFFE id of its certificate, from the first contact on, and no other client', async () => {
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

  it('is needed by devices, and by no other caller', async () => {
    const { status, headers, body } = await send(app, statusOf('press'), bodyOf(), null)
    expect([status, headers['www-authenticate']]).toEqual([401, 'ClientCertificate realm="rollcall"'])
    expect(body.error).toContain('client certificate')
    expect(await overTls(app).query('{ revision }')).toHaveProperty('revision')
  })

  it('refuses a certificate of another authority, whatever it says', async () => {
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

  it('must exist and belong together, and every problem is reported at startup', async () => {
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
