/** A device may fetch its own desired state, with any kind of credential. */
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Certificates, clientCert, createCertificates } from './certificates.ts'
import { refusals, registerAll, revoke } from './devices.ts'
import { digestOf, newKey, type SigningOptions, seconds, signed } from './signing.ts'

const secret = 'a-secret-that-only-the-tests-know-of'
const own = '/api/v1/deployments'
const ofClient = (client: string) => `/v1alpha2/margo/api/v1/clients/${encodeURIComponent(client)}/deployments`
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

let certificates: Certificates
beforeAll(async () => {
  certificates = await createCertificates()
})
afterAll(() => certificates.remove())

describe.each(stores)('fetching on $name', (store) => {
  let app: RunningApp
  let token = ''
  let stolen = ''
  let part = ''
  const key = newKey['ecdsa-p256-sha256']()
  beforeAll(async () => {
    app = await startApp({
      store,
      env: {
        DEVICE_AUTH: 'token,signature,mtls',
        DEVICE_JWT_SECRET: secret,
        TRUSTED_PROXIES: '127.0.0.1',
        CLIENT_CERT_HEADER: 'overwritten',
        SPIFFE_TRUST_DOMAIN: 'fleet.example',
      },
    })
    ;[token = '', stolen = '', , part = ''] = await registerAll(app, [
      { deviceId: 'press', publicKeys: [key.publicKey] },
      { deviceId: 'stolen' },
      { deviceId: 'other' },
      { deviceId: 'press/part' },
    ])
    await revoke(app, 'stolen')
  })
  afterAll(() => app.stop())

  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`${app.url}${path}`, { method, headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) }
  }
  const sign = (path: string, options: Partial<SigningOptions> = {}) =>
    signed(key, {
      url: `${app.url}${path}`,
      method: 'GET',
      body: '',
      components: ['@method', '@target-uri', '@authority'],
      digest: null,
      ...options,
    })

  const ways: readonly (readonly [string, (path: string) => Promise<Record<string, string>>])[] = [
    ['a token', async () => bearer(token)],
    [
      'a JWT',
      async () => {
        const jwt = new SignJWT({ sub: 'press', exp: seconds() + 60 }).setProtectedHeader({ alg: 'HS256' })
        return bearer(await jwt.sign(new TextEncoder().encode(secret)))
      },
    ],
    ['a signature without a digest', async (path) => sign(path)],
    [
      'a signature with the digest of nothing',
      async (path) => sign(path, { components: ['@method', '@target-uri', 'content-digest'], digest: digestOf('') }),
    ],
    [
      'a certificate',
      async () => {
        const fleet = await certificates.authority('the fleet')
        return clientCert(await fleet.issue('press', { names: 'URI:spiffe://fleet.example/margo/wfm/1/client/press' }))
      },
    ],
  ]

  it.each(ways)('is allowed with %s, for its own and no other', async (_, headersFor) => {
    const before = await refusals(app, 'token', 'not-its-own')
    for (const path of [own, ofClient('press')]) {
      const { status, body } = await get(path, await headersFor(path))
      expect([status, body]).toEqual([200, { manifestVersion: 1, bundle: null, deployments: [] }])
    }
    for (const client of ['other', 'press/part', 'unknown']) {
      const path = ofClient(client)
      expect([client, (await get(path, await headersFor(path))).status]).toEqual([client, 403])
    }
    const path = ofClient('other')
    await get(path, bearer(token))
    expect(await refusals(app, 'token', 'not-its-own')).toBeGreaterThan(before)
  })

  it('of a child is its gateway’s to do, also with the child’s own credential', async () => {
    for (const path of [own, ofClient('press/part')]) {
      const { status, body } = await get(path, bearer(part))
      expect([status, body.error]).toEqual([403, expect.stringContaining('in the manifest of press')])
    }
  })

  it('needs a credential, and a good one', async () => {
    for (const path of [own, ofClient('press'), `/api/v1/bundles/sha256:${'0'.repeat(64)}`]) {
      const { status, headers, body } = await get(path)
      expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')])
      expect([headers.get('content-type'), body.error]).toEqual(['application/problem+json', expect.any(String)])
      expect((await get(path, bearer('guessed'))).status).toBe(401)
      expect((await get(path, bearer(stolen))).status).toBe(403)
      expect((await get(path, {}, 'HEAD')).status).toBe(401)
    }
  })

  it('may ask the same with the same signature: a poll changes nothing', async () => {
    const headers = sign(own)
    expect([(await get(own, headers)).status, (await get(own, headers)).status]).toEqual([200, 200])
  })

  it('is refused with a signature of something else', async () => {
    expect((await get(own, sign(ofClient('press')))).status).toBe(401)
    expect((await get(own, sign(own, { method: 'HEAD' }))).status).toBe(401)
    expect((await get(own, sign(own, { components: ['@method'] }))).status).toBe(401)
    expect((await get(own, { ...sign(own), 'content-digest': digestOf('{}') })).status).toBe(400)
    const body = JSON.stringify({ deploymentId: 'pump', status: { state: 'installed' }, components: [] })
    const status = '/api/v1/clients/press/deployments/pump/status'
    const unsigned = sign(status, { method: 'POST' })
    expect((await app.post(status, body, unsigned)).status).toBe(400)
    expect((await app.post(status, body, { ...unsigned, 'content-digest': digestOf(body) })).status).toBe(401)
  })
})
