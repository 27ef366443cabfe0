import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStores, stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { bodyOf, refusals, registerAll, revoke, statusOf } from './devices.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const secret = 'a-secret-that-only-the-tests-know-of'
const now = () => Math.floor(Date.now() / 1000)

/** As a client-credentials grant answers: for the client itself, for this audience, for a while. */
const claims = (device: string, more: object = {}): JWTPayload => ({
  iss: 'https://issuer.example',
  aud: 'rollcall',
  sub: device,
  exp: now() + 60,
  ...more,
})

const shared = (payload: JWTPayload, key = secret, alg = 'HS256') =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(new TextEncoder().encode(key))

describe.each(stores)('a token that an OAuth2 server signed, on $name', (store) => {
  let app: RunningApp
  beforeAll(async () => {
    const env = {
      DEVICE_AUTH: 'token',
      DEVICE_JWT_SECRET: secret,
      DEVICE_JWT_ISSUER: 'https://issuer.example',
      DEVICE_JWT_AUDIENCE: 'rollcall',
      DEVICE_JWT_CLOCK_SKEW: '10',
    }
    app = await startApp({ store, env })
    await registerAll(app, [{ deviceId: 'press' }, { deviceId: 'other' }, { deviceId: 'stolen' }])
  })
  afterAll(() => app.stop())

  const report = (reporter: string, token: string | null, more: object = {}) =>
    app.post(statusOf(reporter), bodyOf('pump', more), token === null ? {} : bearer(token))

  it('lets the device that it names report, and no other', async () => {
    const token = await shared(claims('press'))
    expect((await report('press', token)).status).toBe(201)
    expect((await report('press', token, { deviceId: 'press/part' })).status).toBe(201)
    expect((await report('press', token, { deviceId: 'other' })).status).toBe(403)
    expect((await report('other', token)).status).toBe(403)
    expect((await report('press', null)).status).toBe(401)
  })

  it.each<[string, object, string]>([
    ['has expired', { exp: now() - 11 }, 'expired'],
    ['never expires', { exp: undefined }, 'claims'],
    ['is not good yet', { nbf: now() + 60 }, 'claims'],
    ['is for another audience', { aud: 'other' }, 'claims'],
    ['is for no audience', { aud: undefined }, 'claims'],
    ['is of another issuer', { iss: 'https://elsewhere.example' }, 'claims'],
    ['names no subject', { sub: undefined }, 'claims'],
    ['names an empty subject', { sub: '' }, 'claims'],
    ['names a device that looks like another', { sub: ' press' }, 'claims'],
  ])('that %s is refused', async (_, more, reason) => {
    const before = await refusals(app, 'token', reason)
    const response = await report('press', await shared(claims('press', more)))
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="rollcall"'])
    expect(await refusals(app, 'token', reason)).toBe(before + 1)
  })

  it('is taken while the clocks differ as they may', async () => {
    expect((await report('press', await shared(claims('press', { exp: now() - 5 })))).status).toBe(201)
    expect((await report('press', await shared(claims('press', { nbf: now() + 5 })))).status).toBe(201)
  })

  it('with the signature of another issuer, or with none, is refused', async () => {
    const good = await shared(claims('press'))
    const tampered = good.replace(
      /\.[^.]+\./,
      `.${Buffer.from(JSON.stringify(claims('other'))).toString('base64url')}.`,
    )
    for (const token of [
      await shared(claims('press'), 'another-secret-of-at-least-32-characters'),
      new UnsecuredJWT(claims('press')).encode(),
      tampered,
      // Of its last character, some bits do not count.
      good.replace(/\.[^.](?=[^.]+$)/, (start) => (start === '.A' ? '.B' : '.A')),
    ])
      expect([token, (await report('press', token)).status]).toEqual([token, 401])
  })

  it('is refused from the moment its device is revoked', async () => {
    const token = await shared(claims('stolen'))
    expect((await report('stolen', token)).status).toBe(201)
    await revoke(app, 'stolen')
    const response = await report('stolen', token)
    expect([response.status, (await response.json()).error]).toEqual([403, expect.stringContaining('revoked')])
  })

  it('of an unregistered device is refused, with what to do', async () => {
    const response = await report('unheard-of', await shared(claims('unheard-of')))
    expect(response.status).toBe(403)
    expect((await response.json()).error).toMatch(/registerDevices.*DEVICE_PROVISION/)
    expect((await app.query('{ device(deviceId: "unheard-of") { deviceId } }')).device).toBeNull()
  })

  it('is taken beside tokens that were issued here', async () => {
    const [token = ''] = await registerAll(app, [{ deviceId: 'both' }])
    expect((await report('both', token)).status).toBe(201)
    expect((await report('both', await shared(claims('both')))).status).toBe(201)
  })
})

describe.each(postgresStores)('a token whose issuer publishes its keys, on $name', (store) => {
  let keys: Server
  let app: RunningApp
  let key: CryptoKey
  let nextKey: CryptoKey
  let isAway = false
  beforeAll(async () => {
    const pair = await generateKeyPair('ES256')
    key = pair.privateKey
    const next = await generateKeyPair('ES256')
    nextKey = next.privateKey
    const published = [
      { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' },
      { ...(await exportJWK(next.publicKey)), kid: 'next', alg: 'ES256' },
    ]
    const jwks = JSON.stringify({ keys: published })
    keys = createServer((_, response) => {
      if (isAway) response.writeHead(500).end()
      else response.writeHead(200, { 'content-type': 'application/json' }).end(jwks)
    })
    await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve))
    const env = {
      DEVICE_AUTH: 'token',
      DEVICE_PROVISION: 'true',
      DEVICE_JWT_JWKS_URL: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/jwks`,
      DEVICE_JWT_ISSUER: 'https://issuer.example',
      DEVICE_JWT_AUDIENCE: 'rollcall',
      DEVICE_JWT_CLAIM: 'device.name',
    }
    isAway = true
    app = await startApp({ store, env })
  })
  afterAll(async () => {
    await app.stop()
    await new Promise((resolve) => keys.close(resolve))
  })

  const signed = (payload: JWTPayload, header: { alg: string; kid?: string } = { alg: 'ES256', kid: 'one' }) =>
    new SignJWT(payload).setProtectedHeader(header).sign(key)
  const report = (reporter: string, token: string) => app.post(statusOf(reporter), bodyOf(), bearer(token))

  it('waits for them: a key that cannot be had is no reason to refuse a device for good', async () => {
    const response = await report('pump-1', await signed(claims('client', { device: { name: 'pump-1' } })))
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, expect.any(String)])
    isAway = false
  })

  it('names the device by the claim that is configured, and lets it come unannounced', async () => {
    const token = await signed(claims('client', { device: { name: 'pump-1' } }))
    await expect.poll(async () => (await report('pump-1', token)).status).toBe(201)
    expect((await report('client', token)).status).toBe(403)
    expect((await report('pump-1', await signed(claims('pump-1')))).status).toBe(401)
    await revoke(app, 'pump-1')
    expect((await report('pump-1', token)).status).toBe(403)
  })

  it('need not say which of several published keys it is signed with', async () => {
    const payload = claims('client', { device: { name: 'pump-3' } })
    const withoutName = (by: CryptoKey) => new SignJWT(payload).setProtectedHeader({ alg: 'ES256' }).sign(by)
    expect((await report('pump-3', await withoutName(key))).status).toBe(201)
    expect((await report('pump-3', await withoutName(nextKey))).status).toBe(201)
    const stranger = await generateKeyPair('ES256')
    expect((await report('pump-3', await withoutName(stranger.privateKey))).status).toBe(401)
    const expired = new SignJWT({ ...payload, exp: now() - 100 }).setProtectedHeader({ alg: 'ES256' })
    expect((await report('pump-3', await expired.sign(nextKey))).status).toBe(401)
  })

  it('is refused when it is signed with what only looks like one of them', async () => {
    const stranger = await generateKeyPair('ES256')
    const payload = claims('client', { device: { name: 'pump-2' } })
    for (const kid of ['one', 'two'])
      expect(
        (
          await report(
            'pump-2',
            await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid }).sign(stranger.privateKey),
          )
        ).status,
      ).toBe(401)
    expect((await report('pump-2', await shared(payload))).status).toBe(401)
    expect((await app.query('{ device(deviceId: "pump-2") { deviceId } }')).device).toBeNull()
  })
})
