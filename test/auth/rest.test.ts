/** Who may what over REST: every route, every role, with and without a narrower scope. What devices may have tests of their own beside. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { routes } from './rest-routes.ts'

const adminKey = 'an-admin-key-for-tests-only'
const may: Readonly<Record<string, readonly string[]>> = {
  VIEWER: ['viewer'],
  REPORTER: ['reporter'],
  OPERATOR: ['viewer', 'reporter', 'operator'],
  ADMIN: ['viewer', 'reporter', 'operator', 'admin'],
}

describe('REST', () => {
  let server: RunningApp
  const keys = new Map<string, string>()
  beforeAll(async () => {
    server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'token' } })
    for (const role of Object.keys(may))
      for (const scopes of [[], ['project:alpha'], ['label:site=munich']]) {
        const response = await server.post(
          '/graphql',
          {
            query: `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key } } }`,
            variables: { input: { name: role, roles: [role], scopes } },
          },
          { authorization: `Bearer ${adminKey}` },
        )
        const { data } = (await response.json()) as { data: { createApiKey: { key: string } } }
        keys.set([role, ...scopes].join('/'), data.createApiKey.key)
      }
  })
  afterAll(() => server.stop())

  const send = async (method: string, path: string, key?: string): Promise<number> => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
      ...(method === 'GET' ? {} : { body: '{}' }),
    })
    await response.arrayBuffer()
    return response.status
  }

  it.each(routes)('%s: %s %s', async (need, method, path) => {
    const anonymous = await send(method, path)
    if (need === 'public') return expect(anonymous).toBe(200)
    expect(anonymous).toBe(401)
    expect(await send(method, path, 'a-guess-at-some-key')).toBe(401)
    for (const [name, key] of keys) {
      const [role = '', scope] = name.split('/')
      // Most of what another system's protocol shows or takes is of the whole fleet.
      // What lets people and systems ask is no credential of a device.
      if (need === 'device') {
        expect([name, await send(method, path, key)]).toEqual([name, 401])
        continue
      }
      const isAllowed =
        need === 'viewer of a part' ? may[role]?.includes('viewer') : scope === undefined && may[role]?.includes(need)
      const status = await send(method, path, key)
      expect([name, status === 401, status === 403, status >= 500]).toEqual([name, false, !isAllowed, false])
    }
  })

  it('shows instances of a part of the fleet to those who may see that part', async () => {
    const instance = {
      request: { 'rb-name': 'rb', 'rb-version': '1', 'profile-name': 'p', 'cloud-region': 'r' },
      resources: [],
    }
    const made = await fetch(`${server.url}/v1/instance/seen`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
      body: JSON.stringify(instance),
    })
    expect(made.status).toBe(201)
    const list = async (name: string) => {
      const headers = { authorization: `Bearer ${keys.get(name)}` }
      const all = (await (await fetch(`${server.url}/v1/instance`, { headers })).json()) as { id: string }[]
      const one = await fetch(`${server.url}/v1/instance/seen`, { headers })
      return [all.map(({ id }) => id), one.status]
    }
    expect(await list('VIEWER')).toEqual([['seen'], 200])
    for (const scope of ['project:alpha', 'label:site=munich']) expect(await list(`VIEWER/${scope}`)).toEqual([[], 404])
  })
})
