/** What is revoked on one server is refused on the other from the next request on, on every transport. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closed, openSocket, subscribe, transports } from '../attacks/transports.ts'
import { type EmptyStore, postgresStores, stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { bodyOf, statusOf } from './devices/devices.ts'

const adminKey = 'an-admin-key-for-tests-only'
const admin = { authorization: `Bearer ${adminKey}` }
const env = { API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'token' }

const cases = [['one server', stores, 1] as const, ['two servers', postgresStores, 2] as const]
describe.each(
  cases.flatMap(([name, on, count]) => on.map((store) => ({ name: `${name} on ${store.name}`, store, count }))),
)('$name', ({ store, count }) => {
  let empty: EmptyStore
  let here: RunningApp
  let there: RunningApp
  beforeAll(async () => {
    empty = await store.create()
    here = await startApp({ on: empty, env })
    there = count === 1 ? here : await startApp({ on: empty, env })
  })
  afterAll(async () => {
    await here.stop()
    if (there !== here) await there.stop()
    await empty.drop()
  })

  const manage = async (query: string) => {
    const { data, errors } = await (await here.post('/graphql', { query }, admin)).json()
    expect(errors).toBeUndefined()
    return data
  }
  const newKey = async () => {
    const { createApiKey } = await manage(`mutation { createApiKey(input: { name: "k", roles: [VIEWER] }) {
      ... on CreateApiKeySuccess { key apiKey { id } } } }`)
    return { id: createApiKey.apiKey.id, headers: { authorization: `Bearer ${createApiKey.key}` } }
  }
  const revokeKey = async (id: string) => {
    const { revokeApiKey } = await manage(`mutation { revokeApiKey(input: { id: "${id}" }) { __typename } }`)
    expect(revokeApiKey.__typename).toBe('RevokeApiKeySuccess')
  }
  const query = '{ revision }'
  const followed = 'subscription { deploymentCounts { cursor } }'

  it.each(transports)('refuse a key over $name', async ({ name, ask }) => {
    const { id, headers } = await newKey()
    const request = { query: name === 'HTTP' ? query : followed }
    expect(await ask(there.url, request, headers)).toHaveProperty('data')
    await revokeKey(id)
    const refused = await ask(there.url, request, headers).catch((error: Error) => error)
    if (name === 'WebSocket') expect(refused).toMatchObject({ message: expect.stringMatching(/closed with 4403/) })
    else expect(refused).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    const metrics = await fetch(`${there.url}/metrics`, { headers })
    expect(metrics.status).toBe(401)
  })

  it('end a socket that is open', async () => {
    const { id, headers } = await newKey()
    const socket = await openSocket(there.url, headers)
    const end = closed(socket)
    expect(await subscribe(socket, '1', { query: followed })).toHaveProperty('data')
    await revokeKey(id)
    expect(await end).toMatchObject({ code: 4403 })
  })

  it('refuse a session whose key was revoked, and one that was signed out', async () => {
    const signIn = async (headers: Record<string, string>) => {
      const response = await fetch(`${here.url}/session`, { method: 'POST', headers })
      const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
      return { cookie }
    }
    const ask = async (headers: Record<string, string>) => (await there.post('/graphql', { query }, headers)).status
    const { id, headers } = await newKey()
    const session = await signIn(headers)
    expect(await ask(session)).toBe(200)
    await revokeKey(id)
    expect(await ask(session)).toBe(401)
    const other = await signIn((await newKey()).headers)
    expect(await ask(other)).toBe(200)
    expect((await fetch(`${here.url}/session`, { method: 'DELETE', headers: other })).ok).toBe(true)
    expect(await ask(other)).toBe(401)
  })

  it('refuse the token of a device that was revoked, and one that was replaced', async () => {
    const register = async (deviceId: string) => {
      const { registerDevices } =
        await manage(`mutation { registerDevices(input: { devices: [{ deviceId: "${deviceId}" }] }) {
        ... on RegisterDevicesSuccess { results { token } } } }`)
      return { authorization: `Bearer ${registerDevices.results[0].token}` }
    }
    const report = async (device: string, headers: Record<string, string>) =>
      (await there.post(statusOf(device), bodyOf('pump'), headers)).status
    const stolen = await register('stolen')
    expect(await report('stolen', stolen)).toBe(201)
    await manage('mutation { revokeDevice(input: { deviceId: "stolen" }) { __typename } }')
    expect(await report('stolen', stolen)).toBe(403)
    const old = await register('renewed')
    expect(await report('renewed', old)).toBe(201)
    await manage('mutation { rotateDeviceToken(input: { deviceId: "renewed", overlap: 0 }) { __typename } }')
    expect(await report('renewed', old)).toBe(401)
  })
})

describe.each(postgresStores)('the doorbell between servers on $name', (store) => {
  it('tells that a credential was withdrawn, and after each connection that one may have been', async () => {
    const empty = await store.create()
    const [one, two] = [await empty.open(), await empty.open()]
    let told = 0
    two.onAccessChange(() => {
      told += 1
    })
    const revisions: (number | null)[] = []
    await two.listen((revision) => void revisions.push(revision))
    await expect.poll(() => told).toBe(1)
    await one.session.run(`select pg_notify('rollcall_feed_public', 'access')`)
    await expect.poll(() => told).toBe(2)
    expect(revisions).toEqual([null])
    await Promise.all([one.close(), two.close()])
    await empty.drop()
  })
})
