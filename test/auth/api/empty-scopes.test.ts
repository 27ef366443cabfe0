/** A scopes claim that is there and empty grants nothing: to its token, to the session it opens, and beside a cache that others fill. */
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transports } from '../../attacks/transports.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const secret = 'a-secret-of-thirty-two-characters-or-more'
const query =
  '{ deployments { totalCount nodes { deploymentId } } devices { totalCount } deploymentCounts { total } rollouts { totalCount } changes { nodes { revision } } }'
const followed = 'subscription { deploymentCounts { counts { total } } }'

describe.each(stores)('an empty claim with scopes, on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({
      store,
      env: { API_AUTH: 'jwt', API_JWT_SECRET: secret, API_JWT_ISSUER: 'i', API_JWT_AUDIENCE: 'a', DEVICE_AUTH: 'open' },
    })
    const report = { deviceId: 'd', deploymentId: 'd-1', status: { state: 'installed' }, components: [] }
    await server.post('/reports', { reports: [report] })
  })
  afterAll(() => server.stop())

  const token = async (claims: object) => {
    const jwt = new SignJWT({ sub: 'anna', roles: ['viewer'], ...claims }).setProtectedHeader({ alg: 'HS256' })
    const signed = jwt.setIssuer('i').setAudience('a').setExpirationTime('1h')
    return { authorization: `Bearer ${await signed.sign(new TextEncoder().encode(secret))}` }
  }
  const nothing = {
    deployments: { totalCount: 0, nodes: [] },
    devices: { totalCount: 0 },
    deploymentCounts: { total: 0 },
    rollouts: { totalCount: 0 },
    changes: { nodes: [] },
  }

  it.each(transports)('shows nothing over $name', async ({ name, ask }) => {
    const whole = await token({})
    for (const scopes of [[], '', '  ', null, ['none']]) {
      expect(await ask(server.url, { query }, whole)).toMatchObject({ data: { deployments: { totalCount: 1 } } })
      const empty = await token({ rollcall_scopes: scopes })
      expect({ scopes, ...(await ask(server.url, { query }, empty)) }).toEqual({ scopes, data: nothing })
      if (name !== 'HTTP')
        expect(await ask(server.url, { query: followed }, empty)).toMatchObject({
          data: { deploymentCounts: { counts: { total: 0 } } },
        })
    }
  })

  it('shows nothing in a session either', async () => {
    const headers = await token({ rollcall_scopes: [] })
    const signedIn = await fetch(`${server.url}/session`, { method: 'POST', headers })
    const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')
    expect(cookie).not.toBe('')
    const answer = await server.post('/graphql', { query }, { cookie, origin: server.url })
    expect(await answer.json()).toEqual({ data: nothing })
  })
})
