/** Keys from their making to their end, and what the audit log says of it. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { everyStore } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const adminKey = 'an-admin-key-for-tests-only'
const entries = `query ($filter: AuditLogFilter) { auditLog(first: 100, filter: $filter) {
  totalCount nodes { at kind caller credential address action outcome detail times }
} }`

describe.each(everyStore)('keys to the API on $name', (store) => {
  let server: RunningApp
  let now = Date.now()
  beforeAll(async () => {
    server = await startApp({ store, env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey }, clock: () => now })
  })
  afterAll(() => server.stop())

  const ask = async (as: string, query: string, variables: object = {}) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${as}` },
      body: JSON.stringify({ query, variables }),
    })
    return { status: response.status, body: await response.json() }
  }
  const create = async (input: object, as = adminKey) =>
    (
      await ask(
        as,
        `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename
          ... on CreateApiKeySuccess { key apiKey { id name roles scopes createdBy expiresAt revokedAt } } ... on UserError { message path } } }`,
        { input },
      )
    ).body.data.createApiKey
  const revoke = async (id: string) =>
    (await ask(adminKey, 'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }', { id })).body.data
      .revokeApiKey.__typename
  /** How the socket ends; `isOpen` when its first event has come. */
  const openSocket = (key: string) => {
    const { promise: ended, resolve: end } = Promise.withResolvers<number>()
    const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>()
    const client = createClient({
      url: `${server.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: { authorization: `Bearer ${key}` },
      on: { closed: (event) => end((event as { code: number }).code) },
    })
    client.subscribe(
      { query: 'subscription { deploymentCounts { cursor } }' },
      { next: () => opened(), error: () => {}, complete: () => {} },
    )
    return { ended, isOpen }
  }

  it('are made, shown once, and good for what they may', async () => {
    const made = await create({ name: 'board', roles: ['VIEWER'], scopes: ['project:alpha'] })
    expect(made).toMatchObject({
      __typename: 'CreateApiKeySuccess',
      key: expect.stringMatching(/^rollcall_key_/),
      apiKey: {
        name: 'board',
        roles: ['VIEWER'],
        scopes: ['project:alpha'],
        createdBy: 'the admin key',
        revokedAt: null,
      },
    })
    expect((await ask(made.key, '{ revision }')).status).toBe(200)
    expect((await ask(made.key, '{ apiKeys { id } }')).body.errors[0].extensions.code).toBe('FORBIDDEN')
    const more = 'mutation { createApiKey(input: { name: "mine", roles: [ADMIN] }) { __typename } }'
    expect((await ask(made.key, more)).body.data.createApiKey.__typename).toBe('Forbidden')
    const { body } = await ask(adminKey, '{ apiKeys { id name } }')
    expect(body.data.apiKeys).toEqual([{ id: made.apiKey.id, name: 'board' }])
    const stored = JSON.stringify(await server.app.database.session.run('select * from api_keys'))
    expect(stored).not.toContain(made.key)
  })

  it.each([
    [{ name: '', roles: ['VIEWER'] }, 'name'],
    [{ name: 'x', roles: [] }, 'roles'],
    [{ name: 'x', roles: ['VIEWER'], scopes: ['everything'] }, 'scopes'],
    [{ name: 'x', roles: ['VIEWER'], expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
  ])('are not made of %j', async (input, field) => {
    expect(await create(input)).toMatchObject({ __typename: 'InvalidInput', path: [field] })
  })

  it('end at once when they are revoked, with everything that was open with them', async () => {
    const { key, apiKey } = await create({ name: 'short', roles: ['VIEWER'] })
    const socket = openSocket(key)
    await socket.isOpen
    const [events, parts] = await Promise.all(
      ['text/event-stream', 'multipart/mixed;subscriptionSpec=1.0'].map((accept) =>
        fetch(`${server.url}/graphql?query=subscription{deploymentCounts{cursor}}`, {
          headers: { accept, authorization: `Bearer ${key}` },
        }),
      ),
    )
    const session = await fetch(`${server.url}/session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    })
    const [cookie = ''] = (session.headers.get('set-cookie') ?? '').split(';')
    const own = () =>
      fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', cookie, origin: server.url },
        body: '{"query":"{ revision }"}',
      }).then(({ status }) => status)
    expect(await own()).toBe(200)

    expect(await revoke(apiKey.id)).toBe('RevokeApiKeySuccess')
    expect((await ask(key, '{ revision }')).status).toBe(401)
    expect(await own()).toBe(401)
    expect(await socket.ended).toBe(4403)
    // The streams end, or are cut: they are over.
    for (const stream of [events, parts]) await stream?.text().catch(() => '')
    expect(await revoke('nothing')).toBe('NotFound')
  })

  it('end when their time has come', async () => {
    const expiresAt = new Date(now + 60_000).toISOString()
    const { key } = await create({ name: 'brief', roles: ['VIEWER'], expiresAt })
    const socket = openSocket(key)
    await socket.isOpen
    expect((await ask(key, '{ revision }')).status).toBe(200)
    now += 61_000
    expect((await ask(key, '{ revision }')).status).toBe(401)
    expect(await socket.ended).toBe(4403)
  })

  it('leave lines in the audit log: who, what, from where, and how it went', async () => {
    const { key } = await create({ name: 'clerk', roles: ['OPERATOR'] })
    await ask(
      key,
      'mutation { declareDeployments(input: { rollout: { name: "r" }, deployments: [{ deviceId: "e", deploymentId: "d" }] }) { __typename } }',
    )
    await ask(key, 'mutation { declareDeployments(input: { deployments: [] }) { __typename } }')
    await ask(key, 'mutation { revokeApiKey(input: { id: "x" }) { __typename } }')
    await ask(
      key,
      'mutation { createWebhook(input: { name: "w", url: "https://hooks.example/?token=hush", secret: "whsec_aHVzaGh1c2hodXNoaHVzaGh1c2hodXNo" }) { __typename } }',
    )
    const read = async (filter: object) => (await ask(adminKey, entries, { filter })).body.data.auditLog
    const { nodes, totalCount } = await read({ callers: ['clerk'] })
    expect(totalCount).toBe(4)
    expect(nodes.map(({ action, outcome }: Record<string, string>) => [action, outcome])).toEqual([
      ['createWebhook', 'done'],
      ['revokeApiKey', 'Forbidden'],
      ['declareDeployments', 'InvalidInput'],
      ['declareDeployments', 'done'],
    ])
    expect(nodes[3]).toMatchObject({
      kind: 'MUTATION',
      credential: 'key',
      address: '127.0.0.1',
      detail: { rollout: { name: 'r' }, deployments: [{ deviceId: 'e', deploymentId: 'd' }] },
      times: 1,
    })
    expect(JSON.stringify(nodes)).not.toMatch(/hush|aHVzaGh1c2/)
    const mutations = await read({ kinds: ['MUTATION'], actions: ['createApiKey'] })
    expect(mutations.totalCount).toBeGreaterThan(1)
    expect((await ask(key, entries)).body.errors[0].extensions.code).toBe('FORBIDDEN')
  })

  it('leave a line in the audit log when they are refused, and signed in and out with', async () => {
    const guesses = Array.from({ length: 7 }, () => ask('a-guess-at-some-key', '{ revision }'))
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401]))
    const read = async (kinds: string[]) =>
      (await ask(adminKey, entries, { filter: { kinds } })).body.data.auditLog.nodes
    const guessed = async () =>
      (await read(['REFUSED']))
        .filter(({ outcome }: { outcome: string }) => outcome.includes('unknown'))
        .reduce((sum: number, { times }: { times: number }) => sum + times, 0)
    await expect.poll(guessed).toBeGreaterThanOrEqual(7)
    const session = await fetch(`${server.url}/session`, { method: 'POST', headers: { 'x-api-key': adminKey } })
    const [cookie = ''] = (session.headers.get('set-cookie') ?? '').split(';')
    await fetch(`${server.url}/session`, { method: 'DELETE', headers: { cookie, origin: server.url } })
    const signed = (await read(['SIGN_IN', 'SIGN_OUT'])).slice(0, 2)
    expect(signed.map(({ kind, caller }: Record<string, string>) => [kind, caller])).toEqual([
      ['SIGN_OUT', 'the admin key'],
      ['SIGN_IN', 'the admin key'],
    ])
    expect(JSON.stringify(await read(['REFUSED', 'SIGN_IN', 'SIGN_OUT']))).not.toContain('a-guess')
    expect(JSON.stringify(server.logged)).not.toMatch(/a-guess|an-admin-key/)
  })
})
