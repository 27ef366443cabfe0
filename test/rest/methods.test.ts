/** What a client learns of a route without a request for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { printedSchema } from '../../src/api/graphql/print-schema.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp({ env: { API_AUTH: 'key', API_ADMIN_KEY: 'an-admin-key-for-tests-only' } })
})
afterAll(() => server.stop())

describe('OPTIONS', () => {
  it.each([
    [
      '/device/edge/deployment/pump/status',
      'POST, OPTIONS',
      'application/json, application/yaml, application/x-yaml, text/yaml',
    ],
    ['/healthz', 'GET, HEAD, OPTIONS', null],
    ['/graphql', 'GET, POST, HEAD, OPTIONS', 'application/json'],
  ])('says what is for %s, to anyone', async (path, allow, media) => {
    const answer = await fetch(`${server.url}${path}`, { method: 'OPTIONS' })
    const { headers } = answer
    expect([answer.status, headers.get('allow'), headers.get('accept-post')]).toEqual([204, allow, media])
    expect(await answer.text()).toBe('')
  })

  it('finds nothing where nothing is', async () => {
    expect((await fetch(`${server.url}/nowhere`, { method: 'OPTIONS' })).status).toBe(404)
  })
})

describe('GET /schema.graphql', () => {
  it('has the schema, for callers of the API, once', async () => {
    const url = `${server.url}/schema.graphql`
    expect((await fetch(url)).status).toBe(401)
    const authorization = 'Bearer an-admin-key-for-tests-only'
    const answer = await fetch(url, { headers: { authorization } })
    expect(await answer.text()).toBe(printedSchema())
    const etag = answer.headers.get('etag') ?? ''
    expect((await fetch(url, { headers: { authorization, 'if-none-match': etag } })).status).toBe(304)
  })

  it('is not there where introspection is off', async () => {
    const closed = await startApp({ env: { INTROSPECTION: 'false' } })
    try {
      expect((await fetch(`${closed.url}/schema.graphql`)).status).toBe(404)
    } finally {
      await closed.stop()
    }
  })
})
