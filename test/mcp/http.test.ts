/** POST /mcp as a route: who may, from where, how much, and what ends what waits. */
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeSession } from '../../src/apps/cli/stored-sessions.ts'
import { parseConfig } from '../../src/server/config/config.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { call, connect, declare, http, type Way } from './harness.ts'

const adminKey = 'an-admin-key-for-tests-only'
const secret = 'a-secret-of-the-issuer-for-tests-only'
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const types = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }

const modern = '2026-07-28'
const metaOfModern = {
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe('POST /mcp with credentials', () => {
  let server: RunningApp
  beforeAll(async () => {
    const jwt = { API_JWT_SECRET: secret, API_JWT_ISSUER: 'https://issuer.example', API_JWT_AUDIENCE: 'rollcall' }
    const env = { API_AUTH: 'key,jwt', API_ADMIN_KEY: adminKey, MAX_STREAMS: '1', ...jwt }
    server = await startApp({ env })
  })
  afterAll(() => server.stop())

  const query = async (document: string, variables: object = {}, key = adminKey) => {
    const answer = await server.post('/graphql', { query: document, variables }, { authorization: `Bearer ${key}` })
    // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
    return ((await answer.json()) as { data: any }).data
  }
  const makeKey = async (roles: readonly string[], scopes: readonly string[] = []) => {
    const input = { name: randomUUID(), roles, scopes }
    const { createApiKey } = await query(
      'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { key apiKey { id } } } }',
      { input },
    )
    return createApiKey as { readonly key: string; readonly apiKey: { readonly id: string } }
  }
  const declareFor = async (project: string, name: string) => {
    const deployments = [{ deploymentId: `${name}-1`, deviceId: `${name}-device` }]
    await query('mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }', {
      input: { rollout: { name, project }, deployments },
    })
  }

  it('tells a client without a token where it gets one, and takes the tokens of the API', async () => {
    const refused = await server.post('/mcp', listTools, types)
    expect(refused.status).toBe(401)
    const found = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
    expect(found).toBe(`${server.url}/.well-known/oauth-protected-resource/mcp`)
    expect(await (await fetch(found)).json()).toEqual({
      ...{ resource: `${server.url}/mcp`, authorization_servers: ['https://issuer.example'] },
      bearer_methods_supported: ['header'],
    })
    const sign = (audience: string) =>
      new SignJWT({ roles: ['viewer'] })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('https://issuer.example')
        .setAudience(audience)
        .setSubject('a person')
        .setExpirationTime('1h')
        .sign(new TextEncoder().encode(secret))
    const as = async (token: string) =>
      (await server.post('/mcp', listTools, { ...types, authorization: `Bearer ${token}` })).status
    expect(await as(await sign('rollcall'))).toBe(200)
    expect(await as(await sign('another-service'))).toBe(401)
    expect(await as((await makeKey(['REPORTER'])).key)).toBe(403)
  })

  it('shows a caller with a scope what GraphQL shows it', async () => {
    await declareFor('alpha', 'seen')
    await declareFor('beta', 'hidden')
    const { key } = await makeKey(['VIEWER'], ['project:alpha'])
    const client = await connect(server, http, key)
    const { facts } = await call(client, 'what_is_wrong')
    const { deploymentCounts } = await query('{ deploymentCounts { total pending } }', {}, key)
    expect(facts.counts).toMatchObject(deploymentCounts)
    expect(deploymentCounts).toEqual({ total: 1, pending: 1 })
    expect((await call(client, 'rollout', { rollout: 'seen' })).facts.counts.total).toBe(1)
    for (const [tool, given] of [
      ['rollout', { rollout: 'hidden' }],
      ['deployment', { deployment: 'hidden-1' }],
      ['device', { device: 'hidden-device' }],
    ] as const)
      expect((await call(client, tool, given)).text).toContain('NOT_FOUND')
    expect((await call(client, 'search', { text: 'hidden' })).facts.results).toEqual([])
    await client.close()
  })

  it.each<Way>([
    http,
    { over: 'HTTP', era: '2025-11-25' },
    { over: 'stdio', era: '2026-07-28' },
    { over: 'stdio', era: '2025-11-25' },
  ])('counts a tool that waits as a stream over $over in $era, until its client is gone', async (way) => {
    await declareFor('alpha', 'awaited')
    const { key } = await makeKey(['VIEWER'])
    const [first, second] = [await connect(server, way, key), await connect(server, http, key)]
    const waiting = Promise.withResolvers<void>()
    const cancelled = new AbortController()
    const options = { onprogress: () => waiting.resolve(), signal: cancelled.signal }
    const waited = call(first, 'wait_for_rollout', { rollout: 'awaited' }, options).catch((error: unknown) => error)
    await waiting.promise
    const short = { rollout: 'awaited', timeoutSeconds: 1 }
    expect((await call(second, 'wait_for_rollout', short)).text).toContain('TOO_MANY')
    cancelled.abort()
    expect(await waited).toBeInstanceOf(Error)
    // Over HTTP, the old protocol cancels by a notification. Without sessions it names no request: two clients of a key count theirs alike. It is
    // accepted, and the end of the response ends the wait.
    if (way.over === 'HTTP' && way.era === '2025-11-25') {
      const headers = { ...types, authorization: `Bearer ${key}` }
      const cancelling = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } }
      expect((await server.post('/mcp', cancelling, headers)).status).toBe(202)
      expect((await call(second, 'wait_for_rollout', short)).text).toContain('TOO_MANY')
      await first.close()
    }
    await expect.poll(async () => (await call(second, 'wait_for_rollout', short)).facts?.outcome).toBe('timeout')
    await Promise.all([first.close(), second.close()])
  })

  it.each([modern, '2025-11-25'])('begins to answer before a tool has waited, in %s', async (era) => {
    await declareFor('alpha', 'awaited')
    const { key } = await makeKey(['VIEWER'])
    const _meta = era === modern && { _meta: metaOfModern }
    const params = { name: 'wait_for_rollout', arguments: { rollout: 'awaited' }, ..._meta }
    const headers = { ...types, 'mcp-protocol-version': era, 'mcp-method': 'tools/call', 'mcp-name': params.name }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const answer = await server.post('/mcp', body, { ...headers, authorization: `Bearer ${key}` })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    await answer.body?.cancel()
  })

  it('asks over stdio with the session that its person has by then', async () => {
    const env = { XDG_CONFIG_HOME: temporaryFolder() }
    const client = await connect(server, { over: 'stdio', era: modern }, undefined, env)
    expect((await call(client, 'what_is_wrong')).text).toContain('UNAUTHENTICATED')
    const { key: token } = await makeKey(['VIEWER'])
    await storeSession(server.url, { token, name: 'a person', endsAt: Date.now() + 60_000 }, env)
    expect((await call(client, 'what_is_wrong')).isError).toBe(false)
    await client.close()
  })

  it('ends what waits when its key is revoked', async () => {
    await declareFor('alpha', 'awaited')
    const { key, apiKey } = await makeKey(['VIEWER'])
    const client = await connect(server, http, key)
    const waiting = Promise.withResolvers<void>()
    const waited = call(client, 'wait_for_rollout', { rollout: 'awaited' }, { onprogress: () => waiting.resolve() })
    await waiting.promise
    await query('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }', { id: apiKey.id })
    expect((await waited).text).toContain('UNAUTHENTICATED')
    await client.close()
  })
})

describe('POST /mcp on loopback', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  /** As it is written: fetch would set some of these headers itself. */
  const send = (headers: Record<string, string>, body: unknown = listTools, method = 'POST'): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(`${server.url}/mcp`, {
        method,
        agent: false,
        headers: { 'content-type': 'application/json', ...types, ...headers },
      })
      sent.on('error', reject).on('response', (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.end(typeof body === 'string' ? body : JSON.stringify(body))
    })

  it('refuses pages of other sites, names of other servers, and what is no message', async () => {
    expect(await send({})).toBe(200)
    expect(await send({ origin: 'https://evil.example' })).toBe(403)
    expect(await send({ host: 'evil.example' })).toBe(400)
    expect(await send({ 'content-type': 'text/plain' })).toBe(415)
    expect(await send({}, '{"jsonrpc":')).toBe(400)
    expect(await send({}, [listTools, listTools])).toBe(400)
    expect(await send({}, `${'['.repeat(100)}${']'.repeat(100)}`)).toBe(400)
    expect(await send({}, { ...listTools, params: { pad: 'x'.repeat(300 << 10) } })).toBe(413)
    expect(await send({ 'mcp-protocol-version': '1999-01-01' })).toBe(400)
    expect([await send({}, '', 'GET'), await send({}, '', 'DELETE')]).toEqual([405, 405])
    expect(
      await (await server.post('/mcp', { jsonrpc: '2.0', id: 9007199254740993n.toString(), method: 'ping' }, types))
        .status,
    ).toBe(200)
  })

  it('is off outside of loopback, unless MCP is on', () => {
    const outside = { HOST: '0.0.0.0', API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'token' }
    expect(parseConfig(outside).mcp).toBeNull()
    expect(parseConfig({ ...outside, MCP: 'true' }).mcp).toEqual({ isWriting: false })
    expect(parseConfig({ MCP: 'false' }).mcp).toBeNull()
  })

  it('shows the schema only where it may be read', async () => {
    const hiding = await startApp({ env: { INTROSPECTION: 'false' } })
    const client = await connect(hiding)
    await expect(client.readResource({ uri: 'rollcall://schema' })).rejects.toThrow()
    await client.close()
    await hiding.stop()
  })

  it('announces nothing, so no stream of announcements is opened', async () => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta: metaOfModern },
    }
    const answer = await server.post('/mcp', body, {
      ...types,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    })
    expect(await answer.text()).toContain('limit reached')
  })

  it('ends what waits when the server closes', async () => {
    const closing = await startApp()
    await declare(closing, 'awaited', [{ deploymentId: 'a', deviceId: 'b' }])
    const client = await connect(closing)
    const waiting = Promise.withResolvers<void>()
    const waited = call(client, 'wait_for_rollout', { rollout: 'awaited' }, { onprogress: () => waiting.resolve() })
    await waiting.promise
    await closing.stop()
    expect((await waited).text).toContain('UNAVAILABLE')
    await client.close()
  })
})
