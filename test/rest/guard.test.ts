import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const report = { deploymentId: 'd-1', status: { state: 'installed' }, components: [] }
const path = '/device/edge-1/deployment/d-1/status'

describe('every answer', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ env: { CORS_ORIGINS: 'https://board.example' } })
  })
  afterAll(() => server.stop())

  it('tells browsers to make nothing of it but what it is', async () => {
    for (const [address, init] of [
      ['/'],
      ['/healthz'],
      ['/nowhere'],
      ['/metrics'],
      ['/graphql?query={__typename}', { headers: { accept: 'application/json' } }],
      ['/graphql', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
      ['/graphql', { method: 'DELETE' }],
      [path, { method: 'POST', body: '{' }],
      ['/graphql?query=subscription{changes{cursor}}', { headers: { accept: 'text/event-stream' } }],
    ] satisfies [string, RequestInit?][]) {
      const { headers, body } = await fetch(server.url + address, init)
      await body?.cancel()
      expect(Object.fromEntries(headers), address).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      })
    }
  })

  it('lets pages load what they need, and from nowhere else', async () => {
    const html = { headers: { accept: 'text/html' } }
    const page = await fetch(`${server.url}/`, html)
    const [, script] = /src="(assets\/[^"]+\.js)"/.exec(await page.text()) ?? []
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    const asset = await fetch(`${server.url}/${script}`)
    expect(asset.headers.get('x-content-type-options')).toBe('nosniff')
    const known = { headers: { 'if-none-match': `"other", W/${asset.headers.get('etag')}` } }
    expect((await fetch(`${server.url}/${script}`, known)).status).toBe(304)
    const graphiql = await fetch(`${server.url}/graphql`, html)
    expect(await graphiql.text()).toContain('GraphiQL')
    const policy = graphiql.headers.get('content-security-policy')
    expect(policy).toContain("script-src 'unsafe-inline'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).not.toMatch(/https?:|\*/)
  })

  it('does nothing for a page of another site, whatever kind of body it sends', async () => {
    for (const origin of ['https://evil.example', 'null'])
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json']) {
        const response = await server.post(path, report, { origin, 'content-type': type })
        expect(response.status).toBe(403)
        expect(await response.json()).toMatchObject({ detail: expect.stringContaining('CORS_ORIGINS') })
      }
    expect((await server.query('{ deploymentCounts { total } }')).deploymentCounts.total).toBe(0)
    for (const origin of [server.url, 'https://board.example'])
      expect((await server.post(path, report, { origin })).status).toBe(201)
    expect((await server.post(path, report)).status).toBe(201)
  })
})

describe('a page that CORS_ORIGINS names', () => {
  it('reads why it is refused, and when to retry', async () => {
    const env = {
      CORS_ORIGINS: 'https://board.example',
      API_AUTH: 'key',
      API_ADMIN_KEY: 'x'.repeat(32),
      ADDRESS_RATE: '1',
    }
    const server = await startApp({ env })
    const ask = (origin: string) => fetch(`${server.url}/graphql?query={revision}`, { headers: { origin } })
    let response = await ask('https://board.example')
    while (response.status === 401) response = await ask('https://board.example')
    expect(response.status).toBe(429)
    const allowed = 'access-control-allow-origin'
    expect(response.headers.get(allowed)).toBe('https://board.example')
    const exposed = response.headers.get('access-control-expose-headers')?.split(', ')
    expect(exposed).toEqual(expect.arrayContaining(['retry-after', 'x-request-id']))
    const { errors } = (await response.json()) as { errors: [{ extensions: { retryAfterSeconds: number } }] }
    expect(errors[0].extensions.retryAfterSeconds).toBe(Number(response.headers.get('retry-after')))
    const refused = await ask('https://evil.example')
    expect([refused.status, refused.headers.get(allowed)]).toEqual([429, null])
    await server.stop()
  })
})

describe('a body in a coding that is not decoded', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  async function send(line: string, headers: string, body: Buffer): Promise<string> {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      `${line} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n\r\n`,
    )
    socket.write(Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]))
    return (await socket.setEncoding('utf8').toArray()).join('')
  }

  it.each([
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: identity, Chunked',
  ])('is refused on every route: %s', async (header) => {
    const coding = 'Transfer-Encoding'
    for (const line of [`POST ${path}`, 'POST /reports', 'GET /healthz']) {
      const answer = await send(line, header, gzipSync(JSON.stringify(report)))
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      const problem = JSON.parse(answer.slice(answer.indexOf('{')))
      expect(problem).toMatchObject({ code: 'INVALID_REQUEST', retryable: false, errors: [{ field: coding }] })
      expect(problem.detail).toMatch(/^Transfer-Encoding (gzip|identity), [Cc]hunked is not supported/)
    }
    const asked = await send('POST /graphql', header, gzipSync('{"query":"{ revision }"}'))
    expect(asked).toMatch(/^HTTP\/1\.1 400 [^{]*\{"errors":\[\{"message":"Transfer-Encoding /)
    expect(asked).not.toMatch(/^retry-after/im)
  })

  it('is refused by its Content-Encoding in GraphQL', async () => {
    const header = 'Content-Encoding: gzip\r\nTransfer-Encoding: chunked'
    const asked = await send('POST /graphql', header, gzipSync('{"query":"{ revision }"}'))
    expect(asked).toMatch(/^HTTP\/1\.1 415 [^{]*\{"errors":\[\{"message":"a body of gzip is not supported/)
  })

  it.each([
    'Transfer-Encoding: CHUNKED',
    'Transfer-Encoding: chunked\r\nContent-Encoding: Identity',
    'Transfer-Encoding: chunked\r\nContent-Encoding:',
  ])('is none that only comes in chunks, or is coded as identity: %s', async (headers) => {
    expect(await send(`POST ${path}`, headers, Buffer.from(JSON.stringify(report)))).toMatch(/^HTTP\/1\.1 20[01] /)
  })
})

describe('a caller that is too fast', () => {
  it('is refused by its address with a time to retry, on every route, and no other caller is', async () => {
    const proxy = { TRUSTED_PROXIES: '127.0.0.1', ADDRESS_RATE: '1', DEVICE_RATE: 'off' }
    let now = Date.parse('2026-01-01T00:00:00Z')
    const server = await startApp({ env: proxy, clock: () => now })
    const [fastCaller, otherCaller] = [{ 'x-forwarded-for': '192.0.2.1' }, { 'x-forwarded-for': '192.0.2.2' }]
    try {
      for (let n = 0; n < 10; n++) expect((await server.post(path, report, fastCaller)).status).toBe(201)
      const refused = await server.post(path, report, fastCaller)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(refused.headers.get('content-type')).toBe('application/problem+json')
      expect(await refused.json()).toMatchObject({ limit: 'requestsPerAddress', retryable: true })
      const asked = await server.post('/graphql', { query: '{ __typename }' }, fastCaller)
      expect(asked.status).toBe(429)
      expect(Number(asked.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(await asked.json()).toMatchObject({
        errors: [{ extensions: { code: 'TOO_MANY', limit: 'requestsPerAddress', retryable: true } }],
      })
      expect((await fetch(`${server.url}/metrics`, { headers: fastCaller })).status).toBe(429)
      expect((await fetch(`${server.url}/healthz`, { headers: fastCaller })).status).toBe(200)
      expect((await server.post(path, report, otherCaller)).status).toBe(201)
      now += 1_000
      expect((await server.post(path, report, fastCaller)).status).toBe(201)
      const metrics = await (await fetch(`${server.url}/metrics`, { headers: otherCaller })).text()
      expect(metrics).toContain('rollcall_limited_total{limit="requestsPerAddress"} 3')
    } finally {
      await server.stop()
    }
  })

  it('is refused by its device, from any address, alone and in a backlog', async () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    const server = await startApp({ env: { DEVICE_RATE: '1' }, clock: () => now })
    try {
      for (let n = 0; n < 10; n++) expect((await server.post(path, report)).status).toBe(201)
      const refused = await server.post(path, report)
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({ limit: 'requestsPerDevice' })
      const backlog = (deviceId: string) => ({ reports: [{ ...report, deviceId, deploymentId: `of-${deviceId}` }] })
      expect((await server.post('/reports', backlog('edge-1'))).status).toBe(429)
      expect((await server.post('/reports', backlog('edge-2'))).status).toBe(200)
      expect(
        (await server.post('/device/edge-3/deployment/d-3/status', { ...report, deploymentId: 'd-3' })).status,
      ).toBe(201)
    } finally {
      await server.stop()
    }
  })
})

describe('introspection', () => {
  it('is answered only where it is on', async () => {
    const server = await startApp({ env: { INTROSPECTION: 'false' } })
    try {
      await expect(server.query('{ __schema { types { name } } }')).rejects.toThrow(/introspection/i)
      await expect(server.query('{ deploymentCount { total } }')).rejects.toThrow(/^(?!.*did you mean).*$/is)
      expect(await server.query('{ __typename }')).toEqual({ __typename: 'Query' })
    } finally {
      await server.stop()
    }
  })
})

describe('a header that has no end', () => {
  it('is answered, and the connection is closed', async () => {
    const server = await startApp()
    const socket = connect(server.port, '127.0.0.1')
    const text = await new Promise<string>((resolve) => {
      let got = ''
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        got += chunk
      })
      socket.on('error', () => {}).once('close', () => resolve(got))
      socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`)
    })
    expect(text).toContain('431')
    await server.stop()
  })
})
