import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Certificate, clientCert } from './certificates.ts'
import { bodyOf, registerAll, revoke, statusOf } from './devices.ts'
import { fleet, named, overTls, send, server, useCertificates } from './tls-requests.ts'

useCertificates()

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
  ])('is refused if it is malformed: %s', async (text) => {
    expect((await report('press', { 'client-cert': text })).status).toBe(401)
  })

  it('is refused if it is there twice', async () => {
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

describe('a certificate from an untrusted proxy', () => {
  it('is refused', async () => {
    const app = await startApp({ env: { ...proxied, DEVICE_AUTH: 'open,mtls', TRUSTED_PROXIES: '10.0.0.0/8' } })
    const headers = clientCert(await fleet.issue('press', named('press')))
    const response = await app.post(statusOf('press'), bodyOf(), headers)
    expect([response.status, (await response.json()).error]).toEqual([401, expect.stringContaining('TRUSTED_PROXIES')])
    await app.stop()
  })

  it('is refused also from a trusted proxy that is not configured to overwrite the header', async () => {
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

describe('an expired certificate', () => {
  it('is refused', async () => {
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
