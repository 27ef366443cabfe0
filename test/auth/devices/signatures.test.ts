import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EmptyStore, postgresStores, stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { bodyOf, lastHeard, refusals, registerAll, revoke, statusOf } from './devices.ts'
import { digestOf, newKey, type SigningKey, type SigningOptions, seconds, signed } from './signing.ts'

type Options = Partial<SigningOptions> & { readonly more?: object; readonly headers?: Record<string, string> }

const send = (app: RunningApp, key: SigningKey | null, path: string, options: Options = {}) => {
  const body = options.body ?? JSON.stringify(bodyOf('pump', options.more))
  const headers = key ? signed(key, { url: `${app.url}${path}`, body, ...options }) : {}
  return app.post(path, body, { ...headers, ...options.headers })
}

const errorOf = async (response: Response) => [response.status, (await response.json()).error]

describe.each(stores)('a signed message on $name', (store) => {
  let app: RunningApp
  const [key, other] = [newKey['ecdsa-p256-sha256'](), newKey.ed25519()]
  beforeAll(async () => {
    app = await startApp({ store, env: { DEVICE_AUTH: 'signature' } })
    await registerAll(app, [
      { deviceId: 'press', publicKeys: [key.publicKey] },
      { deviceId: 'other', publicKeys: [other.publicKey] },
      { deviceId: 'camera', parent: 'press' },
    ])
  })
  afterAll(() => app.stop())

  const path = statusOf('press')

  it.each(Object.keys(newKey) as (keyof typeof newKey)[])('is taken with %s, alg said or not', async (alg) => {
    const mine = newKey[alg]()
    const deviceId = `with-${alg}`
    await registerAll(app, [{ deviceId, publicKeys: [mine.publicKey] }])
    expect((await send(app, mine, statusOf(deviceId))).status).toBe(201)
    expect((await send(app, mine, statusOf(deviceId), { parameters: { alg } })).status).toBe(201)
    const wrong = alg === 'ed25519' ? 'rsa-pss-sha512' : 'ed25519'
    expect((await send(app, mine, statusOf(deviceId), { parameters: { alg: wrong } })).status).toBe(401)
  })

  it('lets its device and those behind it report, and no other', async () => {
    expect((await send(app, key, path, { more: { status: { state: 'failed' } } })).status).toBe(201)
    expect((await send(app, key, statusOf('press/part'))).status).toBe(201)
    expect((await send(app, key, statusOf('camera'))).status).toBe(201)
    expect((await send(app, key, statusOf('other'))).status).toBe(403)
    expect((await send(app, other, path)).status).toBe(403)
    expect((await send(app, other, path, { more: { deviceId: 'press/part' } })).status).toBe(403)
    expect((await send(app, key, path, { more: { deviceId: 'other' } })).status).toBe(403)
  })

  it('names the reporter where the path does not, at any of the routes and for a backlog', async () => {
    const body = JSON.stringify({ ...bodyOf('by-key'), adoptedManifestVersion: 1 })
    expect((await send(app, key, '/v1alpha2/margo/api/v1/deployments/by-key/status', { body })).status).toBe(200)
    expect((await app.query('{ deployment(deploymentId: "by-key") { reporter } }')).deployment.reporter).toBe('press')
    const backlog = JSON.stringify({ reports: [bodyOf('one'), bodyOf('two', { reporter: 'other' })] })
    const { results } = await (await send(app, key, '/reports', { body: backlog })).json()
    expect(results.map(({ verdict, status }: { verdict: string; status?: number }) => status ?? verdict)).toEqual([
      'APPLIED',
      403,
    ])
    expect((await send(app, null, '/reports', { body: backlog })).status).toBe(401)
  })

  it('is needed, and its absence says so', async () => {
    const response = await send(app, null, path)
    expect(response.headers.get('www-authenticate')).toBe('Signature realm="rollcall"')
    expect(await errorOf(response)).toEqual([401, expect.stringContaining('Signature')])
  })

  it('needs the digest of its body, which must be there before anything else is looked at', async () => {
    const stranger = newKey.ed25519()
    expect(await errorOf(await send(app, key, path, { digest: null }))).toEqual([
      400,
      expect.stringContaining('content-digest'),
    ])
    expect((await send(app, key, path, { digest: digestOf('{}') })).status).toBe(400)
    // The body of an unknown key is not read to compare it.
    expect((await send(app, stranger, path, { digest: digestOf('{}') })).status).toBe(403)
    for (const digest of ['md5=:AAAA:', 'sha-256=AAAA', 'sha-256=:AAAA:', 'nonsense=', '=:'])
      expect([digest, (await send(app, stranger, path, { digest })).status]).toEqual([digest, 400])
    const body = JSON.stringify(bodyOf())
    for (const digest of [digestOf(body, 'sha-512'), `md5=:AAAA:, ${digestOf(body)}`])
      expect((await send(app, key, path, { body, digest })).status).toBe(201)
    const half = `${digestOf(body)}, ${digestOf('{}', 'sha-512')}`
    expect((await send(app, key, path, { body, digest: half })).status).toBe(400)
  })

  it('of an unregistered key is refused like that of another device', async () => {
    const before = await refusals(app, 'signature', 'unknown')
    const stranger = newKey['ecdsa-p256-sha256']()
    expect(await errorOf(await send(app, stranger, path))).toEqual([403, expect.stringContaining('keyid')])
    expect((await send(app, key, path, { parameters: { keyid: null } })).status).toBe(403)
    expect(await refusals(app, 'signature', 'unknown')).toBe(before + 2)
    // That a key is called as another one makes it no other.
    expect((await send(app, { ...stranger, keyId: key.keyId }, path)).status).toBe(401)
  })

  it('is taken when its keyid is written in capitals, and when a proxy has signed, too', async () => {
    const spelled = { ...key, keyId: key.keyId.toUpperCase() }
    expect((await send(app, spelled, path, { more: { error: { code: '1', message: 'capitals' } } })).status).toBe(201)
    const body = JSON.stringify(bodyOf('pump', { metadata: { by: 'relay' } }))
    const headers = signed(key, { url: `${app.url}${path}`, body })
    const both = {
      ...headers,
      'signature-input': `proxy=("@authority");keyid="proxy", ${headers['signature-input']}`,
      signature: `proxy=:AAAA:, ${headers.signature}`,
    }
    expect((await app.post(path, body, both)).status).toBe(201)
  })

  it.each<[string, Options]>([
    ['does not say when it was made', { parameters: { created: null } }],
    ['is too old', { parameters: { created: seconds() - 320 } }],
    ['is of the future', { parameters: { created: seconds() + 3600 } }],
    ['has expired', { parameters: { expires: seconds() - 1 } }],
    ['expires at no time', { parameters: { expires: 'never' } }],
    ['does not cover the method', { components: ['@target-uri', 'content-digest'] }],
    ['does not cover where it goes', { components: ['@method', '@authority', 'content-digest'] }],
    ['does not cover to whom it goes', { components: ['@method', '@path', 'content-digest'] }],
    ['does not cover the body', { components: ['@method', '@target-uri'] }],
    ['covers what is not there', { components: ['@method', '@target-uri', 'content-digest', 'x-none'] }],
    ['is for another address', { url: 'http://elsewhere.example/device/press/deployment/pump/status' }],
    ['is no signature', { headers: { signature: 'sig1=:AAAA:' } }],
    ['is not there', { headers: { signature: 'sig2=:AAAA:' } }],
    ['is not a structured field', { headers: { signature: 'sig1=(' } }],
    ['says nothing of what it covers', { headers: { 'signature-input': '' } }],
  ])('that %s is refused', async (_, options) => {
    const response = await send(app, key, path, options)
    expect(await errorOf(response)).toEqual([401, expect.stringContaining('Signature')])
  })

  it('may cover the path instead of the whole address, and more than it must', async () => {
    const components = ['content-type', '@authority', '@path', '@method', 'content-digest']
    expect((await send(app, key, path, { components, parameters: { nonce: 'a', tag: 'margo' } })).status).toBe(201)
    expect((await send(app, key, path, { parameters: { nonce: 'b', expires: seconds() + 30 } })).status).toBe(201)
  })

  it('is good once', async () => {
    const url = `${app.url}${path}`
    const again = async (body: string, headers: Record<string, string>) => (await app.post(path, body, headers)).status
    const [first, second] = ['installing', 'installed'].map((state) =>
      JSON.stringify(bodyOf('pump', { status: { state } })),
    )
    const headers = signed(key, { url, body: first ?? '' })
    expect(await again(first ?? '', headers)).toBe(201)
    expect((await send(app, key, path, { body: second ?? '' })).status).toBe(201)
    expect(await again(first ?? '', headers)).toBe(401)
    // Another signature of the same message is no other message, but another nonce makes another one.
    expect((await send(app, key, path, { body: first ?? '', parameters: { nonce: 'n1' } })).status).toBe(201)
    expect((await send(app, key, path, { body: second ?? '', parameters: { nonce: 'n1' } })).status).toBe(401)
    expect((await send(app, key, path, { body: second ?? '', parameters: { nonce: 'n2' } })).status).toBe(201)
    expect(await refusals(app, 'signature', 'replayed')).toBe(2)
  })

  it('that was refused does not let its device seem alive for ever', async () => {
    const mine = newKey.ed25519()
    await registerAll(app, [{ deviceId: 'clumsy', publicKeys: [mine.publicKey] }])
    const body = JSON.stringify(bodyOf('pump', { status: { state: 'sideways' } }))
    const headers = signed(mine, { url: `${app.url}${statusOf('clumsy')}`, body })
    expect((await app.post(statusOf('clumsy'), body, headers)).status).toBe(422)
    const heard = await lastHeard(app, 'clumsy')
    expect(heard).not.toBeNull()
    expect((await app.post(statusOf('clumsy'), body, headers)).status).toBe(422)
    expect(await lastHeard(app, 'clumsy')).toBe(heard)
  })

  it('is refused from the moment its device is revoked, and what a new registration does not name stays so', async () => {
    const [old, fresh] = [newKey.ed25519(), newKey.ed25519()]
    await registerAll(app, [{ deviceId: 'stolen', publicKeys: [old.publicKey] }])
    const ask = async (by: SigningKey) => (await send(app, by, statusOf('stolen'))).status
    expect(await ask(old)).toBe(201)
    await revoke(app, 'stolen')
    expect(await errorOf(await send(app, old, statusOf('stolen'), { parameters: { nonce: 'x' } }))).toEqual([
      403,
      expect.stringContaining('revoked'),
    ])
    await registerAll(app, [{ deviceId: 'stolen', publicKeys: [fresh.publicKey] }])
    expect([await ask(old), await ask(fresh)]).toEqual([403, 201])
  })

  it('may be of any of the device’s keys, of which a list replaces the one before', async () => {
    const [one, two, three] = [newKey.ed25519(), newKey.ed25519(), newKey.ed25519()]
    const ask = async (by: SigningKey) =>
      (await send(app, by, statusOf('many'), { parameters: { nonce: crypto.randomUUID() } })).status
    await registerAll(app, [{ deviceId: 'many', publicKeys: [one.publicKey, two.publicKey, one.publicKey] }])
    expect([await ask(one), await ask(two), await ask(three)]).toEqual([201, 201, 403])
    await registerAll(app, [{ deviceId: 'many' }])
    expect([await ask(one), await ask(two)]).toEqual([201, 201])
    await registerAll(app, [{ deviceId: 'many', publicKeys: [three.publicKey] }])
    expect([await ask(one), await ask(two), await ask(three)]).toEqual([403, 403, 201])
  })
})

describe.each(stores)('public keys on $name', (store) => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp({ store })
  })
  afterAll(() => app.stop())

  const register = async (devices: readonly object[]) => {
    const document = `mutation ($input: RegisterDevicesInput!) { registerDevices(input: $input) {
      __typename ... on UserError { message path } } }`
    return (await app.query(document, { input: { devices } })).registerDevices
  }

  it('are of one device each', async () => {
    const [one, two] = [newKey.ed25519(), newKey.ed25519()].map(({ publicKey }) => publicKey)
    expect(await register([{ deviceId: 'a', publicKeys: [one] }])).toMatchObject({
      __typename: 'RegisterDevicesSuccess',
    })
    expect(await register([{ deviceId: 'b', publicKeys: [two, one] }])).toMatchObject({
      __typename: 'Conflict',
      message: expect.stringContaining('is that of device a'),
    })
    expect(
      await register([
        { deviceId: 'b', publicKeys: [one] },
        { deviceId: 'a', publicKeys: [] },
      ]),
    ).toMatchObject({
      __typename: 'Conflict',
    })
    // In this order, the first gives it away.
    expect(
      await register([
        { deviceId: 'a', publicKeys: [two] },
        { deviceId: 'b', publicKeys: [one] },
      ]),
    ).toEqual({
      __typename: 'RegisterDevicesSuccess',
    })
    expect(await register([{ deviceId: 'c', publicKeys: [two] }])).toMatchObject({
      message: expect.stringContaining('is that of device a'),
    })
  })

  it('are taken as PEM and in base64, and everything else is refused by its place', async () => {
    const key = newKey['ecdsa-p256-sha256']()
    const base64 = key.publicKey.replaceAll(/-----.*-----|\s/g, '')
    expect(await register([{ deviceId: 'd', publicKeys: [base64, key.publicKey] }])).toMatchObject({
      __typename: 'RegisterDevicesSuccess',
    })
    const secret = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ==\n-----END PRIVATE KEY-----'
    for (const bad of ['', 'ssh-ed25519 AAAA', secret, base64.slice(0, -8), 'AAAA'])
      expect([bad, await register([{ deviceId: 'e', publicKeys: [base64, bad] }])]).toMatchObject([
        bad,
        { __typename: 'InvalidInput', path: ['devices', '0', 'publicKeys', '1'] },
      ])
    expect((await app.query('{ device(deviceId: "e") { deviceId } }')).device).toBeNull()
  })
})

describe('a signed message that came through a proxy', () => {
  it('was for the address that the world knows', async () => {
    const env = { DEVICE_AUTH: 'signature', PUBLIC_URL: 'https://rollcall.example/fleet' }
    const app = await startApp({ env })
    const key = newKey['rsa-v1_5-sha256']()
    await registerAll(app, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
    const path = statusOf('press')
    expect((await send(app, key, path, { url: `https://rollcall.example/fleet${path}` })).status).toBe(201)
    for (const url of [`${app.url}${path}`, `https://rollcall.example${path}`, `http://rollcall.example/fleet${path}`])
      expect([url, ...(await errorOf(await send(app, key, path, { url })))]).toEqual([
        url,
        401,
        expect.stringContaining(`https://rollcall.example/fleet${path}`),
      ])
    await app.stop()
  })
})

describe.each(postgresStores)('a signed message that another replica took, on $name', (store) => {
  let on: EmptyStore
  let replicas: RunningApp[]
  beforeAll(async () => {
    on = await store.create()
    const env = { DEVICE_AUTH: 'signature', PUBLIC_URL: 'https://rollcall.example' }
    replicas = [await startApp({ on, env }), await startApp({ on, env })]
  })
  afterAll(async () => {
    for (const replica of replicas) await replica.stop()
    await on.drop()
  })

  it('is not good here, and what another replica revoked is not either', async () => {
    const [here, there] = replicas as [RunningApp, RunningApp]
    const key = newKey.ed25519()
    await registerAll(here, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
    const body = JSON.stringify(bodyOf())
    const headers = signed(key, { url: `https://rollcall.example${statusOf('press')}`, body })
    expect((await here.post(statusOf('press'), body, headers)).status).toBe(201)
    expect((await there.post(statusOf('press'), body, headers)).status).toBe(401)
    await revoke(here, 'press')
    const next = signed(key, { url: `https://rollcall.example${statusOf('press')}`, body, parameters: { nonce: 'n' } })
    expect((await there.post(statusOf('press'), body, next)).status).toBe(403)
  })
})
