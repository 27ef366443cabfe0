/** A cached response always equals the response of an execution, for every caller. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeSink, createSink } from '../../../src/store/sinks/sinks.ts'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const questions = [
  '{ revision deploymentCounts { total pending installing installed failed revision } }',
  '{ deployments(first: 5) { totalCount nodes { id deploymentId state changedAt components { name state } device { lastHeardAt } } } }',
  '{ devices { nodes { deviceId lastHeardAt connectivity deploymentCounts { total } } } }',
  '{ devices { nodes { deviations { kind count lastAt example } } } deviationCounts { kind devices reports } }',
  '{ rollouts { nodes { id name deployments { totalCount } } } }',
  '{ changes(first: 5) { nodes { revision kind } pageInfo { hasNextPage } } }',
  '{ deployment(deploymentId: "d-1") { state history { totalCount } reports { nodes { verdict receivedAt } } } }',
  '{ deployments(first: 101) { totalCount } }',
  '{ deployment(deploymentId: "d-1", deviceId: "stranger") { state } rollout { name } }',
  '{ nothing }',
  '{ deployments(',
  '{ __typename }',
  '{ __schema { queryType { name } } }',
  '{ deploymentCounts(asOf: "2100-01-01T00:00:00Z") { total revision } }',
  '{ audit { revision drift { scope } } }',
  'query A { revision } query B { deploymentCounts { total } }',
]
const people = ['admin', 'viewer', 'viewer/label:site=a', 'viewer/project:none', 'reporter', 'stranger']

describe.each(stores)('responses on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
  })
  afterAll(() => api.close())

  const body = (query: string) => JSON.stringify({ query, ...(query.startsWith('query A') && { operationName: 'B' }) })
  const init = (query: string, as: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${as}` },
    body: body(query),
  })
  const shown = async (response: Response) => ({
    status: response.status,
    type: response.headers.get('content-type'),
    text: (await response.text()).replace(/"id":"[\w-]{20,}"/, '"id":"…"'),
  })
  /** Over a socket, so possibly cached. */
  const asked = async (query: string, as: string) => shown(await fetch(api.url, init(query, as)))
  /** Always executed. */
  const executed = async (query: string, as: string) => shown(await api.graphql.fetch(api.url, init(query, as)))

  it('equal those of an execution byte for byte, for every caller and any history', async () => {
    const past = [`asOf: "${new Date().toISOString()}"`, 'atRevision: "3"'].map(
      (when) => `{ deploymentCounts(${when}) { total installed revision } }`,
    )
    const step = fc.oneof(
      {
        weight: 1,
        arbitrary: fc.record({
          device: fc.constantFrom('edge-1', 'edge-2'),
          state: fc.constantFrom('INSTALLING' as const, 'INSTALLED' as const, 'FAILED' as const),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ query: fc.constantFrom(...questions, ...past), as: fc.constantFrom(...people) }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        for (const one of steps)
          if ('state' in one)
            await api.report({
              reporter: one.device,
              deploymentId: 'd-1',
              state: one.state,
              ...(one.state === 'FAILED' && { error: { code: 'E', message: 'm' } }),
            })
          else {
            const first = await asked(one.query, one.as)
            expect(await asked(one.query, one.as)).toEqual(first)
            expect(first).toEqual(await executed(one.query, one.as))
          }
      }),
      { numRuns: someOf(8, 25) },
    )
  })

  it('equal those of an execution byte for byte, also with new variables', async () => {
    await api.report({ reporter: 'edge-1', deploymentId: 'd-1', state: 'INSTALLED' })
    const documents = [
      'query ($first: Int, $after: String) { deployments(first: $first, after: $after) { nodes { id state components { name } } pageInfo { endCursor } } }',
      'query ($id: String!, $device: String) { deployment(deploymentId: $id, deviceId: $device) { state history { totalCount } } rollouts { nodes { name } } }',
      'query ($skip: Boolean!) { __typename ... @skip(if: $skip) { revision } }',
      'query ($at: Revision) { deploymentCounts(atRevision: $at) { total } }',
      'query A($first: Int) { revision } query B($first: Int) { deployments(first: $first) { totalCount nodes { state } } }',
      'mutation ($first: Int) { forgetDeployments(input: { deployments: [] }) { __typename } }',
    ]
    const wild = fc.constantFrom<unknown>(null, true, -1, 101, 2 ** 40, '', '\u0000', 'nothing', '999999999', [1], {})
    const some = <T>(...usual: T[]) =>
      fc.oneof({ weight: 6, arbitrary: fc.constantFrom<unknown>(...usual) }, { weight: 1, arbitrary: wild })
    const variables = fc.record({
      first: some(1, 2, 3, 50, 100, undefined),
      after: some(null, undefined),
      id: some('d-1', 'd-2', 'ü'),
      device: some('edge-1', null, undefined),
      skip: some(true, false),
      at: some(null, undefined, '1'),
      more: some(undefined),
    })
    const rest = fc.record(
      {
        operationName: fc.constantFrom<unknown>('A', 'B', 'C', null, 1),
        extensions: fc.constantFrom<unknown>({ nonce: 1 }, { persistedQuery: { sha256Hash: 'x' } }, [], null),
        more: fc.constant(1),
      },
      { requiredKeys: [] },
    )
    const request = fc.record({
      query: fc.constantFrom(...documents),
      variables: fc.oneof({ weight: 9, arbitrary: variables }, { weight: 1, arbitrary: wild }),
      rest: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: rest }),
      accept: fc.constantFrom('application/json', 'application/graphql-response+json, application/json;q=0.9', '*/*'),
      as: fc.constantFrom('admin', 'viewer', 'viewer/label:site=a', 'stranger'),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ query, variables, rest, accept, as }) => {
        const { headers, ...plain } = init('', as)
        const sent = { ...plain, headers: { ...headers, accept }, body: JSON.stringify({ query, variables, ...rest }) }
        const found = await shown(await fetch(api.url, sent))
        expect(found).toEqual(await shown(await api.graphql.fetch(api.url, sent)))
      }),
      { numRuns: someOf(40, 400) },
    )
  })

  it('that are cached cost one statement for all concurrent requests, and none is older than its request', async () => {
    const query = '{ revision deployments { nodes { deploymentId state } } }'
    await api.report({ reporter: 'edge-1', deploymentId: 'd-2', state: 'INSTALLED' })
    // A first request is not cached: most requests are never repeated.
    for (const statements of [1, 1, 0]) {
      api.statements()
      await asked(query, 'admin')
      expect(api.statements()).toBe(statements)
    }
    const askTogether = () => Promise.all(Array.from({ length: 50 }, () => asked(query, 'admin')))
    await askTogether()
    expect(api.statements()).toBe(0)
    await api.report({ reporter: 'edge-1', deploymentId: 'd-2', state: 'FAILED' })
    api.statements()
    await askTogether()
    expect(api.statements()).toBe(1)

    let acknowledged = 0
    let isOver = false
    const asking = Array.from({ length: 12 }, async () => {
      let answers = 0
      while (!isOver) {
        const least = acknowledged
        const { text } = await asked(query, 'admin')
        expect(Number(JSON.parse(text).data.revision)).toBeGreaterThanOrEqual(least)
        answers += 1
      }
      return answers
    })
    for (let n = 0; n < 40; n += 1) {
      const outcome = (await api.report({
        reporter: 'edge-1',
        deploymentId: 'd-2',
        state: n % 2 ? 'INSTALLING' : 'INSTALLED',
      })) as { revision: number }
      acknowledged = outcome.revision
    }
    isOver = true
    for (const answers of await Promise.all(asking)) expect(answers).toBeGreaterThan(0)
  })

  it('show a heartbeat that creates no revision', async () => {
    const query = '{ devices { nodes { deviceId lastHeardAt } } }'
    const report = () => api.report({ reporter: 'edge-9', deploymentId: 'd-9', state: 'INSTALLED' })
    await report()
    await asked(query, 'admin')
    await asked(query, 'admin')
    const before = await asked(query, 'admin')
    await expect
      .poll(async () => {
        await report()
        return (await asked(query, 'admin')).text
      })
      .not.toBe(before.text)
  })

  it('show data that is written outside of batches', async () => {
    const { session } = api.road.database
    const hook = { kind: 'WEBHOOK', name: 'hook', instanceKey: null, url: 'https://hook.example' } as const
    const { key } = await createSink(session, { ...hook, secret: null, filter: {}, settings: {}, cursor: 0 }, 0)
    const sinks = async () => JSON.parse((await asked('{ sinks { name paused lag } }', 'admin')).text).data.sinks
    expect(await sinks()).toMatchObject([{ name: 'hook', paused: false }])
    await changeSink(session, key, { paused: true })
    expect(await sinks()).toMatchObject([{ name: 'hook', paused: true }])
  })

  it('that name the caller are never those of another caller with equal rights', async () => {
    const names = ['viewer/label:site=a/label:site=b', 'viewer/label:site=b/label:site=a']
    for (const query of [
      '{ revision viewer { name roles scopes expiresAt } }',
      '{ ...V } fragment V on Query { viewer { name } deploymentCounts { total } }',
    ])
      for (const name of [...names, ...names, ...names.toReversed()]) {
        const { text } = await asked(query, name)
        expect(JSON.parse(text).data.viewer).toMatchObject({ name })
      }
    const { data } = await api.query('{ viewer { name roles scopes } }', {}, 'reporter')
    expect(data).toEqual({ viewer: { name: 'reporter', roles: ['REPORTER'], scopes: [] } })
    const none = await api.query('{ viewer { roles scopes } }', {}, 'boss/project:x')
    expect(none.data).toEqual({ viewer: { roles: [], scopes: ['project:x'] } })
  })

  it.each([1, 100])('have all letters, in a short and in a long answer (%i)', async (length) => {
    const message = 'Ünïté ✓ 端 😀 '.repeat(length)
    await api.report({
      reporter: 'edge-9',
      deploymentId: `d-${length}`,
      state: 'FAILED',
      error: { code: 'E', message },
    })
    const query = `{ deployments(first: 20, filter: { deploymentIds: ["d-${length}"] }) { nodes { ${Array.from({ length: 20 }, (_, n) => `e${n}: error { message }`).join(' ')} } } }`
    const first = await asked(query, 'admin')
    expect(first.text).toContain(message)
    // The third is sent from the cache: short or long, as text or as bytes.
    expect([await asked(query, 'admin'), await asked(query, 'admin')]).toEqual([first, first])
  })

  it('have an ETag, and are not sent again while it matches', async () => {
    const url = `${api.url}?${new URLSearchParams({ query: '{ deploymentCounts { total failed } }' })}`
    const get = (etag?: string) =>
      fetch(url, { headers: { authorization: 'Bearer admin', ...(etag && { 'if-none-match': etag }) } })
    const first = await get()
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{20,}"$/)
    const again = await get(etag)
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, ''])
    await api.report({ reporter: 'edge-5', deploymentId: 'd-5', state: 'INSTALLED' })
    const changed = await get(etag)
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
    // A change that does not affect the response keeps its ETag.
    await api.report({ reporter: 'edge-5', deploymentId: 'd-5', state: 'INSTALLING' })
    expect((await get(changed.headers.get('etag') ?? '')).status).toBe(304)
  })

  it('to GET are private: executed, cached and not modified', async () => {
    const url = `${api.url}?${new URLSearchParams({ query: '{ deploymentCounts { removing } }' })}`
    const get = async (headers: Record<string, string> = {}) => {
      const response = await fetch(url, { headers: { authorization: 'Bearer admin', ...headers } })
      return { status: response.status, etag: response.headers.get('etag') ?? '', headers: response.headers }
    }
    const answers = [await get(), await get(), await get()]
    const [first] = answers
    answers.push(await get({ 'if-none-match': first?.etag ?? '' }), await get({ accept: 'text/event-stream' }))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 304, 200])
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toMatch(/^private, no-cache/)
      expect(headers.get('vary')?.split(', ')).toEqual(
        expect.arrayContaining(['Accept', 'Authorization', 'Cookie', 'X-API-Key']),
      )
    }
  })

  it('show no state that retention has removed', async () => {
    const report = (state: 'FAILED' | 'INSTALLED') => api.report({ reporter: 'edge-6', deploymentId: 'd-6', state })
    const { revision } = (await report('FAILED')) as { revision: number }
    await report('INSTALLED')
    const query = `{ deploymentCounts(atRevision: "${revision}") { total } }`
    for (let times = 0; times < 3; times += 1) expect((await asked(query, 'admin')).text).toContain('"total"')
    await api.road.database.session.run('update log_head set tail = revision')
    expect((await asked(query, 'admin')).text).toContain('HISTORY_EXPIRED')
  })

  it('are cached per caller rights', async () => {
    const query = '{ devices { nodes { deviceId } } }'
    const all = await asked(query, 'viewer')
    expect(JSON.parse(all.text).data.devices.nodes.length).toBeGreaterThan(0)
    expect(JSON.parse((await asked(query, 'viewer/label:site=a')).text).data.devices.nodes).toEqual([])
    expect((await asked(query, 'stranger')).status).toBe(401)
    expect(JSON.parse((await asked(query, 'reporter')).text).errors[0].extensions.code).toBe('FORBIDDEN')
  })
})
