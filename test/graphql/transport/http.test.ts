import { request } from 'node:http'
import { auditServer } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Api, startApi } from '../harness.ts'

describe('GraphQL over HTTP', () => {
  let api: Api

  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api.close())

  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(api.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  it('passes all 61 audits of graphql-http', async () => {
    const results = await auditServer({ url: api.url, fetchFn: fetch })
    expect(results.filter(({ status }) => status !== 'ok').map(({ status, name }) => `${status}: ${name}`)).toEqual([])
    expect(results).toHaveLength(61)
  })

  it('answers a query by GET, and refuses a mutation by it', async () => {
    const ask = (query: string) => fetch(`${api.url}?${new URLSearchParams({ query })}`)
    const answer = await ask('{ __typename }')
    expect(await answer.json()).toEqual({ data: { __typename: 'Query' } })
    const refused = await ask('mutation { forgetDeployments(input: { ids: [] }) { __typename } }')
    expect(refused.status).toBe(405)
    expect(refused.headers.get('allow')).toBe('POST')
  })

  it('refuses mutations that another site could send without a CORS preflight', async () => {
    const query = 'mutation { forgetDeployments(input: { ids: [] }) { __typename } }'
    for (const type of [
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain',
      'text/plain; application/json',
    ]) {
      const response = await post(type.includes('urlencoded') ? String(new URLSearchParams({ query })) : { query }, {
        'content-type': type,
      })
      expect([type, response.status]).toEqual([type, 415])
      const [error] = ((await response.json()) as { errors: { message: string; extensions: object }[] }).errors
      expect(error?.message).toContain(`of ${type.split(';')[0]} is not supported: send Content-Type: application/json`)
      expect(error?.extensions).toEqual({ code: 'UNSUPPORTED_MEDIA_TYPE' })
    }
  })

  it('says what to send instead of a body that is empty or has no type', async () => {
    const empty = await post('')
    expect(empty.status).toBe(400)
    expect(await empty.json()).toMatchObject({ errors: [{ message: 'the body is empty: send {"query": "…"}' }] })
    const untyped = await post({ query: '{ __typename }' }, { 'content-type': '' })
    expect(untyped.status).toBe(415)
    expect(await untyped.text()).toContain('a body without a Content-Type is not supported: send')
  })

  it.each([
    ['a subscription that is asked for as JSON', 'subscription { changes { cursor } }', 'application/json'],
    ['a query that is asked for as PDF', '{ __typename }', 'application/pdf'],
  ])('says what to accept to %s', async (_, query, accept) => {
    for (const response of [
      await post({ query }, { accept }),
      await fetch(`${api.url}?${new URLSearchParams({ query })}`, { headers: { accept } }),
    ]) {
      expect(response.status).toBe(406)
      const message = expect.stringMatching(
        /json for a query .*text\/event-stream or multipart\/mixed;.* for a subscription$/,
      )
      expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE' } }] })
    }
  })

  it('executes one operation per request', async () => {
    const response = await post([{ query: '{ __typename }' }, { query: '{ __typename }' }])
    expect(response.status).toBe(400)
  })

  it('lets only listed origins read responses', async () => {
    const closed = await post({ query: '{ __typename }' }, { origin: 'https://evil.example' })
    expect(closed.headers.get('access-control-allow-origin')).toBeNull()
    for (const origins of [['https://board.example'], ['https://board.example', 'https://other.example']]) {
      const open = await startApi({ graphql: { origins } })
      const allowed = async (origin: string, method: string) => {
        const headers = { 'content-type': 'application/json', 'access-control-request-method': 'POST', origin }
        const body = method === 'POST' ? '{"query":"{ __typename }"}' : null
        const response = await fetch(open.url, { method, headers, body })
        return response.headers.get('access-control-allow-origin')
      }
      for (const method of ['POST', 'OPTIONS']) {
        expect(await allowed('https://board.example', method)).toBe('https://board.example')
        expect(await allowed('https://evil.example', method)).toBe('https://board.example')
        // The origin of a sandboxed frame, of any site.
        expect(await allowed('null', method)).toBe('https://board.example')
      }
      // A browser does not ask before each request.
      const asking = { origin: 'https://board.example', 'access-control-request-method': 'POST' }
      const preflight = await fetch(open.url, { method: 'OPTIONS', headers: asking })
      expect(preflight.headers.get('access-control-max-age')).toBe('600')
      await open.close()
    }
  })

  it('refuses an operationName that is no string', async () => {
    const response = await post({ query: 'query A { revision }', operationName: 5 })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { errors: [{ message: 'operationName must be a string' }] },
    ])
  })

  it('reports invalid variables as a client error', async () => {
    const query =
      'query ($r: Revision!, $t: DateTime) { changes(after: $r) { totalCount } deployments(asOf: $t) { totalCount } }'
    const response = await post(
      { query, variables: { r: 'new', t: 'now' } },
      { accept: 'application/graphql-response+json' },
    )
    expect(response.status).toBe(400)
    const { errors } = (await response.json()) as { errors: { message: string; extensions: object }[] }
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('Revision must be decimal digits, such as "1234", or "begin"; got "new"'),
      expect.stringContaining('DateTime must be ISO 8601 with an offset'),
    ])
    for (const error of errors) expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT' })
  })

  it('refuses documents with too many tokens and bodies with too many bytes', async () => {
    const tokens = await post({ query: `{ ${'__typename '.repeat(10_001)} }` })
    expect(await tokens.json()).toMatchObject({ errors: [{ message: expect.stringContaining('10000 tokens') }] })
    const bytes = await post({ query: '{ __typename }', variables: { x: 'x'.repeat(17 * 1024 * 1024) } }).catch(
      () => null,
    )
    if (bytes) expect(bytes.status).toBe(413)
    expect(await api.ask('{ __typename }')).toEqual({ __typename: 'Query' })
  })

  it('serves GraphiQL with a valid initial query', async () => {
    const page = await fetch(api.url, { headers: { accept: 'text/html' } })
    const html = await page.text()
    expect(html).toContain('GraphiQL · Rollcall')
    const { defaultQuery } = await import('../../../src/api/graphql/transport/playground.ts')
    expect(html).toContain(JSON.stringify(defaultQuery).slice(1, 60))
    // The editor of a window that is 1280 pixels wide has so many columns.
    expect(defaultQuery.split('\n').filter((line) => line.startsWith('#') && line.length > 45)).toEqual([])
    const response = await post({ query: defaultQuery, operationName: 'Fleet' })
    expect(await response.json()).toMatchObject({ data: { deploymentCounts: { total: 0 } } })
    const watch = await post({ query: defaultQuery, operationName: 'Watch' }, { accept: 'text/event-stream' })
    expect(watch.status).toBe(200)
    await watch.body?.cancel()
  })

  it('serves GraphiQL without external scripts', async () => {
    const page = await api.graphql.fetch(api.url, { headers: { accept: 'text/html' } })
    expect(await page.text()).not.toMatch(/<(script|link|img)[^>]+(src|href)=["']?(https?:)?\/\//i)
  })

  it('does not serve GraphiQL when it is disabled', async () => {
    const off = await startApi({ graphql: { graphiql: false } })
    const page = await fetch(off.url, { headers: { accept: 'text/html' } })
    expect(await page.text()).not.toContain('GraphiQL')
    await off.close()
  })

  it('finishes an operation after its client disconnects, and leaves no snapshot open', async () => {
    const asked = new Promise<void>((resolve) => {
      const client = request(api.url, { method: 'POST', headers: { 'content-type': 'application/json' } })
      client.on('error', () => resolve())
      client.end(JSON.stringify({ query: '{ deployments { totalCount } }' }), () => client.destroy())
    })
    await asked
    await api.ask('{ revision }')
    await expect.poll(() => api.openSnapshots()).toBe(0)
  })
})
