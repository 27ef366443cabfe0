/** Devices onboard and offboard, and fetch the authority of the server’s certificate. */
import { X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Certificates, createCertificates } from '../../auth/devices/certificates.ts'
import { lastHeard } from '../../auth/devices/devices.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, profileOf, requestsTo } from './profiles.ts'

let certificates: Certificates
beforeAll(async () => {
  certificates = await createCertificates()
})
afterAll(() => certificates.remove())

describe.each(stores)('on $name, where everything is open', (store) => {
  let app: RunningApp
  const send = requestsTo(() => app)
  beforeAll(async () => {
    app = await startApp({ store, env: { GIT: 'git' } })
  })
  afterAll(() => app.stop())

  it.each([
    '/onboarding',
    '/onboarding/',
    '/v1alpha2/margo/onboarding/',
    '/api/v1/onboarding',
    '/margo/api/v1/onboarding/',
    '/margo/sbi/v1/onboarding',
    '/v1alpha2/margo/api/v1/onboarding',
  ])('onboarding at %s registers a client by its key, once', async (path) => {
    const { cert } = await (await certificates.authority('any')).issue('some device')
    const { raw, publicKey } = new X509Certificate(cert)
    const id = await import('../../../src/api/auth/devices/public-key.ts').then(({ keyIdOf }) => keyIdOf(publicKey))
    const request = { apiVersion: 'onboarding.margo.org/v1alpha1', kind: 'OnboardingRequest' }
    for (const certificate of [raw.toString('base64'), Buffer.from(cert).toString('base64'), cert])
      expect(await send('POST', path, { ...request, certificate })).toEqual({
        status: 201,
        body: { clientId: id, repository: { url: `/git/${id}.git` } },
      })
    expect(await profileOf(app, id)).toEqual({
      registered: false,
      onboardedAt: await lastHeard(app, id),
      capabilities: null,
    })
    expect((await send('GET', `/api/v1/clients/${id}/deployments`)).body).toMatchObject({ manifestVersion: 1 })
  })

  it('onboarding refuses a certificate whose key cannot be read', async () => {
    const { cert } = await (await certificates.authority('any')).issue('broken')
    const { raw } = new X509Certificate(cert)
    const point = raw.indexOf(Buffer.from('03420004', 'hex')) + 10
    raw[point] = (raw[point] ?? 0) ^ 1
    const answer = await send('POST', '/api/v1/onboarding', { certificate: raw.toString('base64') })
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining('certificate must be')])
    for (const { body } of [answer, await send('POST', '/api/v1/onboarding', {})])
      expect(body.errors).toMatchObject([{ field: 'certificate' }])
  })

  it('onboarding takes the name of a client from its certificate', async () => {
    const names = 'URI:spiffe://fleet.example/margo/wfm/1/client/press-9'
    const { cert } = await (await certificates.authority('any')).issue('press', { names })
    expect((await send('POST', '/api/v1/onboarding', { certificate: cert })).body).toMatchObject({
      clientId: 'press-9',
    })
  })

  it('offboarding needs a credential even if reports do not', async () => {
    expect((await send('DELETE', '/onboarding')).status).toBe(401)
  })

  it.each([
    [{}, 400],
    [{ certificate: null }, 400],
    [{ certificate: 'AAAA' }, 400],
    [{ certificate: '-----BEGIN CERTIFICATE-----' }, 400],
    [{ certificate: 7 }, 422],
    [{ kind: 'DeviceCapabilities', certificate: 'AAAA' }, 422],
  ])('onboarding with %j is refused', async (body, status) => {
    const answer = await send('POST', '/api/v1/onboarding', body)
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringMatching(/certificate|kind/)])
  })
})

describe('the authority of the server’s certificate', () => {
  const ask = (app: RunningApp, ca: string, path: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(`${app.url}${path}`, { ca }, (response) => {
        response
          .setEncoding('utf8')
          .on('data', (text) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
      })
      sent.on('error', reject).end()
    })

  it('is served if it is known', async () => {
    const authority = await certificates.authority('the fleet')
    const server = await authority.issue('localhost', { names: 'DNS:localhost,IP:127.0.0.1' })
    const path = `${server.files.cert}.chain`
    await writeFile(path, `${server.cert}\n${authority.cert}`)
    const tls = { DEVICE_AUTH: 'token', TLS_KEY: server.files.key }
    const [chained, alone] = [
      await startApp({ env: { ...tls, TLS_CERT: path } }),
      await startApp({ env: { ...tls, TLS_CERT: server.files.cert } }),
    ]
    try {
      for (const route of [
        '/onboarding/certificate',
        '/api/v1/onboarding/certificate',
        '/margo/sbi/v1/onboarding/certificate',
      ]) {
        const { status, body } = await ask(chained, authority.cert, route)
        expect([status, Buffer.from(body.certificate, 'base64').toString().trim()]).toEqual([
          200,
          authority.cert.trim(),
        ])
        expect((await ask(alone, authority.cert, route)).status).toBe(404)
      }
    } finally {
      await chained.stop()
      await alone.stop()
    }
  })
})
