/** What devices must show to onboard and to send capabilities, and what that lets them and others see. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Certificates, createCertificates } from '../../auth/devices/certificates.ts'
import { refusals, registerAll, revoke } from '../../auth/devices/devices.ts'
import { newKey, signed } from '../../auth/devices/signing.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, profileOf, requestsTo, today } from './profiles.ts'

let certificates: Certificates
beforeAll(async () => {
  certificates = await createCertificates()
})
afterAll(() => certificates.remove())

describe.each(stores)('on $name, where devices authenticate', (store) => {
  let app: RunningApp
  const send = requestsTo(() => app)
  const key = newKey['ecdsa-p256-sha256']()
  let [press, other, gone] = ['', '', '']
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  beforeAll(async () => {
    app = await startApp({ store, env: { GIT: 'git', DEVICE_AUTH: 'token,signature' } })
    ;[press = '', other = '', gone = ''] = await registerAll(app, [
      { deviceId: 'press' },
      { deviceId: 'other', publicKeys: [key.publicKey] },
      { deviceId: 'gone' },
    ])
    await revoke(app, 'gone')
  })
  afterAll(() => app.stop())

  it('onboarding needs a credential', async () => {
    const { cert } = await (await certificates.authority('any')).issue('stranger', {
      names: 'URI:spiffe://fleet.example/margo/wfm/1/client/press',
    })
    const body = { kind: 'OnboardingRequest', certificate: cert }
    for (const path of ['/api/v1/onboarding', '/onboarding/', '/margo/sbi/v1/onboarding']) {
      expect((await send('POST', path, body)).status).toBe(401)
      expect((await send('POST', path, body, bearer('guessed'))).status).toBe(401)
      expect((await send('POST', path, body, bearer(gone))).status).toBe(403)
    }
    expect((await profileOf(app, 'press')).onboardedAt).toBeNull()
    // Its certificate has a key that is not registered, and does not register it.
    expect(await send('POST', '/api/v1/onboarding', body, bearer(press))).toEqual({
      status: 201,
      body: { clientId: 'press', repository: { url: '/git/press.git', token: press } },
    })
    expect((await profileOf(app, 'press')).onboardedAt).not.toBeNull()
    expect(await app.query('{ devices { totalCount } }')).toEqual({ devices: { totalCount: 3 } })
    expect(await send('POST', '/api/v1/onboarding', {}, bearer(other))).toEqual({
      status: 201,
      body: { clientId: 'other', repository: { url: '/git/other.git', token: other } },
    })
  })

  it('a device that signs gets a token for its repository only', async () => {
    const first = newKey.ed25519()
    const second = newKey.ed25519()
    await registerAll(app, [{ deviceId: 'signing', publicKeys: [first.publicKey] }])
    let nonce = 0
    const onboard = async (): Promise<string> => {
      nonce += 1
      const url = `${app.url}/api/v1/onboarding`
      const answer = await send('POST', '/api/v1/onboarding', '{}', {
        ...signed(first, { url, body: '{}', parameters: { nonce: String(nonce) } }),
      })
      expect(answer).toEqual({
        status: 201,
        body: {
          clientId: 'signing',
          repository: { url: '/git/signing.git', token: expect.stringMatching(/^rollcall_git_[\w-]{43}$/) },
        },
      })
      return answer.body.repository.token
    }
    const refs = async (device: string, token: string): Promise<number> => {
      const url = `${app.url}/git/${device}.git/info/refs?service=git-upload-pack`
      const response = await fetch(url, { headers: { authorization: `Basic ${btoa(`x:${token}`)}` } })
      await response.arrayBuffer()
      return response.status
    }
    const token = await onboard()
    expect([await refs('signing', token), await refs('press', token)]).toEqual([200, 403])
    const report = { deploymentId: 'd', status: { state: 'installed' }, components: [] }
    for (const [method, path, body] of [
      ['POST', '/device/signing/deployment/d/status', report],
      ['POST', '/reports', [report]],
      ['PUT', '/api/v1/capabilities/signing', today('signing')],
      ['GET', '/api/v1/clients/signing/deployments', undefined],
      ['POST', '/api/v1/onboarding', {}],
      ['DELETE', '/api/v1/onboarding', undefined],
    ] as const)
      expect([path, (await send(method, path, body, bearer(token))).status]).toEqual([path, 401])
    expect(JSON.stringify(app.logged)).not.toContain(token)

    const next = await onboard()
    expect([await refs('signing', token), await refs('signing', next)]).toEqual([401, 200])
    // The former key may have been replaced because it leaked.
    await registerAll(app, [{ deviceId: 'signing', publicKeys: [first.publicKey, second.publicKey] }])
    expect(await refs('signing', next)).toBe(401)
    const last = await onboard()
    expect(await refs('signing', last)).toBe(200)
    await revoke(app, 'signing')
    expect(await refs('signing', last)).toBe(403)
    await registerAll(app, [{ deviceId: 'signing', publicKeys: [first.publicKey] }])
    expect(await refs('signing', last)).toBe(401)
  })

  it('a device that signs for a child gets no token: its gateway fetches for it', async () => {
    const own = newKey.ed25519()
    await registerAll(app, [{ deviceId: 'gate/child', publicKeys: [own.publicKey] }])
    const headers = signed(own, { url: `${app.url}/onboarding`, body: '{}' })
    expect((await send('POST', '/onboarding', '{}', headers)).body).toEqual({
      clientId: 'gate/child',
      repository: { url: '/git/gate.git' },
    })
  })

  it('a device introduces itself and its children, and no other device', async () => {
    const before = await refusals(app, 'token', 'not-its-own')
    expect((await send('PUT', '/api/v1/capabilities/press', today('press'))).status).toBe(401)
    expect((await send('PUT', '/api/v1/capabilities/press', today('press'), bearer(gone))).status).toBe(403)
    expect((await send('PUT', '/api/v1/capabilities/press', today('press'), bearer(press))).status).toBe(201)
    expect((await send('PUT', '/api/v1/capabilities', today('anything'), bearer(press))).status).toBe(200)
    expect((await profileOf(app, 'press')).capabilities.document).toEqual(today('anything'))
    expect((await send('PUT', '/api/v1/capabilities/press/part', today('press/part'), bearer(press))).status).toBe(201)
    for (const path of [
      '/api/v1/capabilities/other',
      '/device/other/capabilities',
      '/api/v1/clients/other/capabilities',
    ])
      expect([path, (await send('PUT', path, today('other'), bearer(press))).status]).toEqual([path, 403])
    expect((await send('PUT', '/api/v1/clients/press/capabilities/other', today('other'), bearer(press))).status).toBe(
      403,
    )
    expect((await send('DELETE', '/api/v1/capabilities/press', undefined, bearer(other))).status).toBe(403)
    expect((await send('DELETE', '/api/v1/capabilities/press/part', undefined, bearer(press))).status).toBe(204)
    expect(await refusals(app, 'token', 'not-its-own')).toBe(before + 5)
    expect((await profileOf(app, 'other')).capabilities).toBeNull()
  })

  it('offboarding invalidates the credential of a device, and only that device can do it', async () => {
    const [leaving = ''] = await registerAll(app, [{ deviceId: 'leaving' }])
    expect((await send('POST', '/api/v1/onboarding', {}, bearer(leaving))).status).toBe(201)
    expect((await send('DELETE', '/api/v1/onboarding')).status).toBe(401)
    expect((await profileOf(app, 'leaving')).onboardedAt).not.toBeNull()
    expect((await send('DELETE', '/api/v1/onboarding', undefined, bearer(leaving))).status).toBe(204)
    expect((await profileOf(app, 'leaving')).onboardedAt).toBeNull()
    expect((await send('POST', '/api/v1/onboarding', {}, bearer(leaving))).status).toBe(403)
    const [again = ''] = await registerAll(app, [{ deviceId: 'leaving' }])
    expect((await send('POST', '/api/v1/onboarding', {}, bearer(again))).status).toBe(201)
  })

  it('a signature is accepted once', async () => {
    const body = JSON.stringify(today('other'))
    const path = '/api/v1/capabilities/other'
    const headers = signed(key, { url: `${app.url}${path}`, method: 'PUT', body })
    expect((await send('PUT', path, body.replace('Presses', 'Thieves'), headers)).status).toBe(400)
    expect((await send('PUT', path, body, headers)).status).toBe(201)
    expect((await send('PUT', path, body, headers)).status).toBe(401)
  })
})

describe.each(stores)('on $name, with keys that see a part of the fleet', (store) => {
  const admin = 'an-admin-key-of-enough-characters'
  let app: RunningApp
  const send = requestsTo(() => app)
  beforeAll(async () => {
    app = await startApp({ store, env: { GIT: 'git', API_AUTH: 'key', API_ADMIN_KEY: admin, DEVICE_AUTH: 'open' } })
  })
  afterAll(() => app.stop())

  it('a label from a device puts it in the scope of no key', async () => {
    const ask = async (query: string, key: string): Promise<Answer['body']> =>
      (await send('POST', '/graphql', { query }, { authorization: `Bearer ${key}` })).body.data
    const { createApiKey } = await ask(
      `mutation { createApiKey(input: { name: "north", roles: [VIEWER], scopes: ["label:site=north"] }) { ... on CreateApiKeySuccess { key } } }`,
      admin,
    )
    await ask(
      'mutation { registerDevices(input: { devices: [{ deviceId: "theirs", labels: [{ key: "site", value: "north" }] }] }) { __typename } }',
      admin,
    )
    const labels = { site: 'north' }
    expect((await send('PUT', '/api/v1/capabilities/sly', { ...today('sly'), labels })).status).toBe(201)
    await send('POST', '/device/sly/deployment/sly-1/status', {
      deploymentId: 'sly-1',
      status: { state: 'installed' },
      components: [],
    })
    const everything = `{
      devices { nodes { deviceId } } deployments { totalCount } deploymentCounts { total } changes { totalCount }
      byLabel: devices(filter: { labels: [{ key: "site", value: "north" }] }) { nodes { deviceId } }
      device(deviceId: "sly") { deviceId }
    }`
    const own = [{ deviceId: 'theirs' }]
    expect(await ask(everything, createApiKey.key)).toEqual({
      devices: { nodes: own },
      deployments: { totalCount: 0 },
      deploymentCounts: { total: 0 },
      changes: { totalCount: 0 },
      byLabel: { nodes: own },
      device: null,
    })
    expect((await ask(everything, admin)).byLabel.nodes).toEqual([{ deviceId: 'sly' }, { deviceId: 'theirs' }])
  })
})
