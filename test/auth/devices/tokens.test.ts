import { Agent, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EmptyStore, everyStore, postgresStores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { bodyOf, lastHeard, refusals, registerAll, revoke, rotate, statusOf } from './devices.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe.each(everyStore)('a bearer token on $name', (store) => {
  let app: RunningApp
  beforeAll(async () => {
    app = await startApp({ store, env: { DEVICE_AUTH: 'token' } })
  })
  afterAll(() => app.stop())

  const report = (reporter: string, token: string | null, more: object = {}) =>
    app.post(statusOf(reporter), bodyOf('pump', more), token === null ? {} : bearer(token))
  const register = async (...devices: Parameters<typeof registerAll>[1]) => registerAll(app, devices)

  it('lets its device report, and no other', async () => {
    const [a = '', b = ''] = await register({ deviceId: 'press-1' }, { deviceId: 'press-2' })
    expect((await report('press-1', a)).status).toBe(201)
    const foreign = await report('press-1', b)
    expect(foreign.status).toBe(403)
    expect(await foreign.json()).toMatchObject({
      type: 'https://docs.margo.org/specification/problem-types#not-authorized',
      retryable: false,
      error: expect.stringContaining('press-1 is not one of them'),
    })
    expect(await refusals(app, 'token', 'not-its-own')).toBeGreaterThan(0)
  })

  it('is needed: without one, or with an unknown one, a report is refused', async () => {
    await register({ deviceId: 'press-3' })
    for (const headers of [
      {},
      bearer('rollcall_guessed'),
      { authorization: 'Bearer' },
      { authorization: 'Bearer two words' },
      { authorization: 'Basic cHJlc3MtMzp4' },
    ]) {
      const response = await app.post(statusOf('press-3'), bodyOf(), headers)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="rollcall"')
      expect(await response.json()).toMatchObject({ type: 'about:blank', status: 401, retryable: false })
    }
    expect((await app.query('{ device(deviceId: "press-3") { lastHeardAt } }')).device).toEqual({ lastHeardAt: null })
  })

  it('is good in an overlap after it was rotated, and no longer', async () => {
    const [first = ''] = await register({ deviceId: 'turning' })
    const second = await rotate(app, 'turning', 60)
    expect((await report('turning', first)).status).toBe(201)
    expect((await report('turning', second)).status).toBe(201)
    const third = await rotate(app, 'turning', 0)
    for (const old of [first, second]) {
      const response = await report('turning', old)
      expect([response.status, (await response.json()).error]).toEqual([401, expect.stringContaining('has expired')])
    }
    expect((await report('turning', third)).status).toBe(201)
  })

  it('is refused from the moment its device is revoked, also on a connection that stays', async () => {
    const [token = ''] = await register({ deviceId: 'stolen' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ports = new Set<number | undefined>()
    const send = () =>
      new Promise<number>((resolve, reject) => {
        const headers = { ...bearer(token), 'content-type': 'application/json' }
        const sent = request(`${app.url}${statusOf('stolen')}`, { method: 'POST', agent, headers }, (response) => {
          ports.add(response.socket.localPort)
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        sent.on('error', reject).end(JSON.stringify(bodyOf()))
      })
    expect(await send()).toBe(201)
    await revoke(app, 'stolen')
    expect(await send()).toBe(403)
    const [fresh = ''] = await register({ deviceId: 'stolen' })
    expect(await send()).toBe(401)
    expect((await report('stolen', fresh)).status).toBe(201)
    agent.destroy()
    expect(ports.size).toBe(1)
  })

  it('of a gateway reports for what is behind it, by name or as registered, and for no stranger', async () => {
    const [gateway = '', child = ''] = await register(
      { deviceId: 'gw' },
      { deviceId: 'gw/valve' },
      { deviceId: 'camera', parent: 'gw' },
      { deviceId: 'lens', parent: 'camera' },
      { deviceId: 'gwendolyn' },
      { deviceId: 'other' },
    )
    const asks: readonly (readonly [string, object, number])[] = [
      ['gw', { deviceId: 'gw/pump' }, 201],
      ['gw', { deviceId: 'gw/rack/fan' }, 201],
      ['gw/valve', {}, 201],
      ['gw', { deviceId: 'camera' }, 201],
      ['camera', {}, 201],
      ['lens', {}, 201],
      ['gw', { deviceId: 'other' }, 403],
      ['gw', { deviceId: 'unheard-of' }, 403],
      ['gw', { deviceId: 'gwendolyn' }, 403],
      ['gwendolyn', {}, 403],
      ['other', { deviceId: 'gw/pump' }, 403],
    ]
    for (const [reporter, more, status] of asks)
      expect([reporter, more, (await report(reporter, gateway, more)).status]).toEqual([reporter, more, status])
    expect((await report('gw/valve', child)).status).toBe(201)
    expect((await report('gw', child)).status).toBe(403)
    expect((await report('gw/valve', child, { deviceId: 'gw/pump' })).status).toBe(403)
    expect((await app.query('{ device(deviceId: "unheard-of") { deviceId } }')).device).toBeNull()
  })

  it('names the reporter where the path does not', async () => {
    const [token = ''] = await register({ deviceId: 'client-9' })
    const body = bodyOf('by-credential', { adoptedManifestVersion: 1 })
    expect((await app.post('/api/v1/deployments/by-credential/status', body, bearer(token))).status).toBe(200)
    expect((await app.query('{ deployment(deploymentId: "by-credential") { reporter } }')).deployment.reporter).toBe(
      'client-9',
    )
  })

  it('of a backlog is asked for each of its reports', async () => {
    const [token = ''] = await register({ deviceId: 'away' })
    const reports = [
      bodyOf('one'),
      bodyOf('two', { deviceId: 'away/part' }),
      bodyOf('three', { reporter: 'stranger' }),
      bodyOf('four', { deviceId: 'stranger' }),
      bodyOf('five', { status: { state: 'sideways' } }),
    ]
    const response = await app.post('/reports', { reports }, bearer(token))
    expect(response.status).toBe(200)
    const { results } = await response.json()
    expect(results.map(({ verdict, status }: { verdict: string; status?: number }) => status ?? verdict)).toEqual([
      'APPLIED',
      'APPLIED',
      403,
      403,
      422,
    ])
    expect((await app.post('/reports', { reports }, {})).status).toBe(401)
    expect((await app.query('{ device(deviceId: "stranger") { deviceId } }')).device).toBeNull()
  })

  it('shows that its device is alive, whatever becomes of the report', async () => {
    const [token = '', own = ''] = await register({ deviceId: 'clumsy' }, { deviceId: 'clumsy/part' })
    expect(await lastHeard(app, 'clumsy')).toBeNull()
    expect((await report('clumsy', token, { status: { state: 'sideways' } })).status).toBe(422)
    const first = await lastHeard(app, 'clumsy')
    expect(first).not.toBeNull()
    expect((await report('clumsy/part', token)).status).toBe(201)
    expect(Date.parse((await lastHeard(app, 'clumsy')) ?? '')).toBeGreaterThanOrEqual(Date.parse(first ?? ''))
    expect(await lastHeard(app, 'clumsy/part')).not.toBeNull()
    expect((await app.post('/reports', [bodyOf('x', { reporter: 'unknown' })], bearer(own))).status).toBe(200)
    expect(await lastHeard(app, 'unknown')).toBeNull()
  })

  it('is asked for after what is wrong with the body', async () => {
    const [token = ''] = await register({ deviceId: 'orderly' })
    const ask = async (body: unknown, headers: Record<string, string>) =>
      (await app.post(statusOf('orderly'), body, headers)).status
    expect(await ask('{"deploymentId"', {})).toBe(400)
    expect(await ask(bodyOf('pump', { status: { state: 'sideways' } }), {})).toBe(422)
    expect(await ask(bodyOf(), {})).toBe(401)
    expect(await ask(bodyOf('pump', { deviceId: 'stranger' }), bearer(token))).toBe(403)
    expect(await ask(bodyOf(), bearer(token))).toBe(201)
  })

  it('is counted when it is refused, and never logged', async () => {
    const before = await refusals(app, 'token', 'unknown')
    await report('press-1', 'rollcall_a-secret-that-leaks')
    expect(await refusals(app, 'token', 'unknown')).toBe(before + 1)
    const lines = app.logged.filter(({ reason }) => reason === 'unknown')
    expect(lines.at(-1)).toMatchObject({ method: 'token', address: '127.0.0.1', level: 'warn' })
    expect(JSON.stringify(app.logged)).not.toContain('a-secret-that-leaks')
  })
})

describe('a token beside open', () => {
  it('is not needed, but must be good when there is one', async () => {
    const app = await startApp({ env: { DEVICE_AUTH: 'open,token' } })
    expect((await app.post(statusOf('anyone'), bodyOf())).status).toBe(201)
    expect((await app.post(statusOf('anyone'), bodyOf(), bearer('rollcall_guessed'))).status).toBe(401)
    await app.stop()
  })
})

describe('a token where devices are open', () => {
  it('is not looked at', async () => {
    const app = await startApp()
    expect((await app.post(statusOf('anyone'), bodyOf(), bearer('whatever'))).status).toBe(201)
    await app.stop()
  })
})

describe.each(postgresStores)('a token that another replica revoked, on $name', (store) => {
  let on: EmptyStore
  let replicas: RunningApp[]
  beforeAll(async () => {
    on = await store.create()
    const env = { DEVICE_AUTH: 'token' }
    replicas = [await startApp({ on, env }), await startApp({ on, env })]
  })
  afterAll(async () => {
    for (const replica of replicas) await replica.stop()
    await on.drop()
  })

  it('is refused by the next request, and so is one that was rotated away', async () => {
    const [here, there] = replicas as [RunningApp, RunningApp]
    for (let round = 0; round < 10; round += 1) {
      const deviceId = `revoked-${round}`
      const [token = ''] = await registerAll(here, [{ deviceId }])
      const ask = async (text: string) => (await there.post(statusOf(deviceId), bodyOf(), bearer(text))).status
      expect(await ask(token)).toBe(201)
      const fresh = await rotate(here, deviceId, 0)
      expect([await ask(token), await ask(fresh)]).toEqual([401, 201])
      await revoke(here, deviceId)
      expect(await ask(fresh)).toBe(403)
    }
  })
})
