/** Signing in over HTTP: a credential becomes a cookie, and what that cookie is good for. */
import { afterEach, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const key = 'an-admin-key-for-tests-only'
const env = { API_AUTH: 'key', API_ADMIN_KEY: key }

describe('a session', () => {
  let server: RunningApp
  afterEach(() => server.stop())

  const send = (method: string, headers: Record<string, string> = {}, body?: unknown): Promise<Response> =>
    fetch(`${server.url}/session`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const read = async (cookie: string, more: Record<string, string> = {}): Promise<number> => {
    const headers = { 'content-type': 'application/json', cookie, ...more }
    const body = JSON.stringify({ query: '{ revision }' })
    return (await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })).status
  }

  it('begins with a key, reads as the key does, and ends', async () => {
    server = await startApp({ env })
    const response = await send('POST', {}, { credential: key })
    expect(response.status).toBe(201)
    expect(await response.json()).toEqual({ name: 'the admin key', roles: ['admin'], seconds: 43_200 })
    const set = response.headers.get('set-cookie') ?? ''
    expect(set).toMatch(/^rollcall=[\w-]{20,}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/)
    const [cookie = ''] = set.split(';')
    expect(await read(cookie)).toBe(200)
    expect(await (await send('GET', { cookie })).json()).toEqual({
      name: 'the admin key',
      roles: ['admin'],
      scopes: [],
      isSession: true,
      apiAuth: ['key'],
      deviceAuth: ['open'],
      commands: { rollcall: 'npm run --silent rollcall --', simulate: 'npm run simulate --' },
    })
    // Another site's page cannot use it, nor end it.
    expect(await read(cookie, { origin: 'https://elsewhere.example' })).toBe(403)
    expect((await send('DELETE', { cookie, origin: 'https://elsewhere.example' })).status).toBe(403)
    const over = await send('DELETE', { cookie })
    expect(over.headers.get('set-cookie')).toBe('rollcall=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
    expect(await read(cookie)).toBe(401)
  })

  it('takes the credential as a header, too, and is guarded by its name where the world comes over TLS', async () => {
    server = await startApp({ env: { ...env, PUBLIC_URL: 'https://rollcall.example' } })
    const response = await send('POST', { authorization: `Bearer ${key}` })
    const set = response.headers.get('set-cookie') ?? ''
    expect(set).toMatch(/^__Host-rollcall=.*; Secure$/)
    expect(await read(set.split(';')[0] ?? '')).toBe(200)
  })

  it('is refused for what is no credential', async () => {
    server = await startApp({ env })
    expect((await send('POST', {}, { credential: `${key}x` })).status).toBe(401)
    expect((await send('GET')).status).toBe(401)
    for (const body of [{}, { credential: 7 }, { credential: ' ' }, 'text', null]) {
      const response = await send('POST', {}, body)
      expect({ status: response.status, errors: (await response.json()).errors }).toEqual({
        status: 400,
        errors: [{ field: 'credential', message: 'send {"credential": "…"}: an API key or a token' }],
      })
    }
  })

  it('is not needed where the server is open', async () => {
    server = await startApp()
    expect(await (await send('GET')).json()).toMatchObject({ isSession: false })
    expect((await send('POST', {}, { credential: key })).status).toBe(401)
  })
})
