/** Documents and variables that cost too much, on every transport: refused by name before they cost anything, and other callers are not affected. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Answer, closed, openSocket, type Request, transports } from './transports.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
  await server.post('/device/edge-1/deployment/d-1/status', {
    deploymentId: 'd-1',
    status: { state: 'installed' },
    components: [],
  })
})
afterAll(async () => {
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
})

const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(' ')
const nested = (depth: number, text: string, inner: string): string => text.repeat(depth) + inner + ' }'.repeat(depth)

/** Each is refused because of what it is named by. */
const attacks: readonly (readonly [limit: string, what: string, request: Request])[] = [
  ['aliases', 'an alias bomb', { query: `{ ${times(101, (n) => `a${n}: deploymentCounts { total }`)} }` }],
  ['aliases', 'one field, over and over', { query: `{ ${times(5_000, () => 'revision')} }` }],
  [
    'aliases',
    'aliases within aliases',
    { query: `{ ${times(11, (n) => `a${n}: deployments { ${times(11, (m) => `b${m}: totalCount`)} }`)} }` },
  ],
  [
    'aliases',
    'aliases in a fragment',
    { query: `{ ...F } fragment F on Query { ${times(200, (n) => `a${n}: revision`)} }` },
  ],
  [
    'depth',
    'deep fields',
    {
      query: `{ deployments { nodes { ${nested(10, 'rollout { deployments { nodes { ', 'id')}${' } }'.repeat(10)} } } }`,
    },
  ],
  [
    'depth',
    'a chain of fragments',
    {
      query: `{ deployments { nodes { ...F0 } } } ${times(
        20,
        (n) =>
          `fragment F${n} on Deployment { rollout { deployments { nodes { ${n === 19 ? 'id' : `...F${n + 1}`} } } } }`,
      )}`,
    },
  ],
  [
    'fragments',
    'one fragment, over and over',
    { query: `{ ${times(201, () => '...F')} } fragment F on Query { revision }` },
  ],
  [
    'fragments',
    'thousands of fragments, each in the one before',
    {
      query: `{ ...F0 } ${times(500, (n) => `fragment F${n} on Query { ...F${n + 1} }`)} fragment F500 on Query { revision }`,
    },
  ],
  ['directives', 'a directive bomb', { query: `{ revision ${times(101, () => '@include(if: true)')} }` }],
  ['directives', 'unknown directives', { query: `{ revision ${times(2_000, () => '@a')} }` }],
  ['tokens', 'very many tokens', { query: `{ ${times(20_000, () => 'a')} }` }],
  ['tokens', 'tokens that say nothing', { query: `{ ${'!'.repeat(30_000)} }` }],
  ['nesting', 'brackets in brackets', { query: `{ deployments(first: ${'['.repeat(5_000)}` }],
  ['nesting', 'fields that have no end', { query: '{ a '.repeat(5_000) }],
  ['nesting', 'a value in values', { query: `{ nodes(ids: ${'['.repeat(100)}${']'.repeat(100)}) { id } }` }],
  [
    'cost',
    'pages of pages',
    {
      query:
        '{ deployments(first: 100) { nodes { rollout { deployments(first: 100) { nodes { history(first: 100) { nodes { at } } } } } } } }',
    },
  ],
  [
    'cost',
    'pages of pages, by variables',
    {
      query:
        'query ($n: Int) { deployments(first: $n) { nodes { rollout { deployments(first: $n) { nodes { history(last: $n) { nodes { at } } } } } } } }',
      variables: { n: 100 },
    },
  ],
  [
    'variableDepth',
    'deep variables',
    {
      query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
      variables: { ids: JSON.parse('['.repeat(1_000) + ']'.repeat(1_000)) },
    },
  ],
]

describe.each(transports)('over $name', ({ name, ask }) => {
  it.each(attacks)('by %s: %s', async (limit, _, request) => {
    const { data, errors } = await ask(server.url, request)
    expect(data ?? null).toBeNull()
    expect(errors).toHaveLength(1)
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'LIMIT_EXCEEDED', limit, max: expect.any(Number) })
    expect(errors?.[0]?.message.length).toBeLessThan(300)
    expect(await server.query('{ deploymentCounts { total } }')).toEqual({ deploymentCounts: { total: 1 } })
  })

  it('a document in a circle is invalid, however large the circle is', async () => {
    for (const size of [1, 2, 90]) {
      const circle = times(
        size,
        (n) => `fragment F${n} on Deployment { rollout { deployments { nodes { ...F${(n + 1) % size} } } } }`,
      )
      const { data, errors } = await ask(server.url, { query: `{ deployments { nodes { ...F0 } } } ${circle}` })
      expect(data ?? null).toBeNull()
      expect(errors?.[0]?.extensions?.code).toMatch(/GRAPHQL_VALIDATION_FAILED|LIMIT_EXCEEDED/)
    }
  })

  it('what grows by doubling is refused by its cost', async () => {
    const doubling = times(
      15,
      (n) =>
        `fragment F${n} on Deployment { a${n}: rollout { nextOf: deployments(first: 1) { nodes { ...F${n + 1} } } } b${n}: rollout { nextOf: deployments(first: 1) { nodes { ...F${n + 1} } } } }`,
    )
    const { errors } = await ask(server.url, {
      query: `{ deployments(first: 1) { nodes { ...F0 } } } ${doubling} fragment F15 on Deployment { id }`,
    })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })

  it('a large document is refused by its size, or by the message’s', async () => {
    const query = `{ revision } # ${'x'.repeat(300_000)}`
    if (name === 'WebSocket') {
      const socket = await openSocket(server.url)
      socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query } }))
      expect((await closed(socket)).code).toBe(1009)
    } else {
      const { errors } = await ask(server.url, { query })
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'documentSize' })
    }
    expect(await server.query('{ deploymentCounts { total } }')).toEqual({ deploymentCounts: { total: 1 } })
  })

  it('audits are one at a time, and the next one is done', async () => {
    const { errors } = await ask(server.url, { query: '{ a: audit { drift { field } } b: audit { drift { field } } }' })
    expect(errors).toMatchObject([{ extensions: { code: 'TOO_MANY', limit: 'audits', retryable: true } }])
    // The answer does not wait for the other audit.
    await expect
      .poll(() => ask(server.url, { query: '{ audit { drift { field } } }' }))
      .toEqual({ data: { audit: { drift: [] } } })
  })

  it('a caller that sends too fast is refused with a time to retry', async () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    const fast = await startApp({ env: { TRUSTED_PROXIES: '127.0.0.1', ADDRESS_RATE: '1' }, clock: () => now })
    const [fastCaller, otherCaller] = [{ 'x-forwarded-for': '192.0.2.1' }, { 'x-forwarded-for': '192.0.2.2' }]
    const query = '{ __typename }'
    let refusal: Answer | Error = {}
    // A WebSocket is refused with its upgrade, too.
    for (let n = 0; n < 11; n++) refusal = await ask(fast.url, { query }, fastCaller).catch((error: Error) => error)
    if (refusal instanceof Error) expect(refusal.message).toContain('429')
    else
      expect(refusal.errors).toMatchObject([{ extensions: { code: 'TOO_MANY', limit: 'requestsPerAddress', max: 1 } }])
    expect(await ask(fast.url, { query }, otherCaller)).toEqual({ data: { __typename: 'Query' } })
    await fast.stop()
  })

  it('is refused each time that it comes, and so often in the metrics', async () => {
    const count = async (): Promise<number> => {
      const text = await (await fetch(`${server.url}/metrics`)).text()
      return Number(/rollcall_limited_total\{limit="aliases"\} (\d+)/.exec(text)?.[1] ?? 0)
    }
    const before = await count()
    const [, , bomb] = attacks[0] ?? []
    for (let n = 0; n < 3; n++) await ask(server.url, bomb ?? {})
    expect(await count()).toBe(before + 3)
  })
})

describe('a body of HTTP', () => {
  const send = (body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> =>
    server.post('/graphql', body, headers)

  it('of many operations is none', async () => {
    const response = await send(JSON.stringify(Array.from({ length: 1_000 }, () => ({ query: '{ revision }' }))))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringMatching(/batch/i) }] })
  })

  it.each([
    ['arrays', '['.repeat(200_000)],
    ['closed arrays', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['objects', '{"a":'.repeat(100_000)],
    ['variables', `{"query":"{ revision }","variables":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`],
    ['extensions', `{"query":"{ revision }","extensions":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`],
  ])('that nests without an end is refused: %s', async (_, body) => {
    const response = await send(body)
    expect([200, 400]).toContain(response.status)
    expect(JSON.stringify(await response.json())).not.toMatch(/INTERNAL|stack|call stack/i)
    expect(await server.query('{ __typename }')).toEqual({ __typename: 'Query' })
  })

  it('that is too large is refused, whether it says how large it is or not', async () => {
    const large = Buffer.alloc(17 << 20, 0x20)
    expect((await send(large)).status).toBe(413)
    const stream = new ReadableStream({
      start(controller) {
        for (let n = 0; n < 17; n++) controller.enqueue(large.subarray(0, 1 << 20))
        controller.close()
      },
    })
    const answered = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    } as RequestInit).then(
      ({ status }) => status,
      () => 413,
    )
    expect(answered).toBe(413)
  })

  it('with thousands of ids asks for no more than there may be', async () => {
    const response = await send(
      JSON.stringify({
        query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
        variables: { ids: Array.from({ length: 100_000 }, (_, n) => `id-${n}`) },
      }),
    )
    expect(response.status).toBeLessThan(500)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: expect.any(String) } }] })
  })
})
