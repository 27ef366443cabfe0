/** `@defer` and `@stream`: with the clients that send them, byte by byte, and under the limits of any other operation. */

import { request as httpRequest } from 'node:http'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { Defer20220824Handler, GraphQL17Alpha9Handler } from '@apollo/client/incremental'
import { Client, fetchExchange } from '@urql/core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { maxParts } from '../../../src/api/graphql/guards/limits.ts'
import { defaultLimits } from '../../../src/platform/limits/limits.ts'
import type { Database } from '../../../src/store/database.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

const [paths, ids] = ['multipart/mixed;deferSpec=20220824', 'multipart/mixed;incrementalSpec=v0.2']
const rest = 'application/graphql-response+json, application/json;q=0.9'

const document = `query Fleet {
  revision
  list: deployments(first: 10) {
    nodes @stream(initialCount: 1, label: "rows") { deploymentId ... @defer(label: "device") { device { deviceId } } }
  }
  ... @defer(label: "counts") { deploymentCounts { total } }
}`
const whole = document.replaceAll(/@(stream|defer)\(.*?\)/g, '')

describe('answers in parts', () => {
  let api: Api
  /** Statements wait until it resolves. Null: they do not. */
  let held: Promise<void> | null = null
  let isBroken = false

  const holding = (database: Database): Database => ({
    ...database,
    async snapshot(...given) {
      const snapshot = await database.snapshot(...given)
      const run: typeof snapshot.run = async (text, parameters) => {
        if (held && /deployment_counts|count/.test(text)) await held
        if (isBroken && /deployment_counts|count/.test(text)) throw new Error('s3cret')
        return snapshot.run(text, parameters)
      }
      return { ...snapshot, run }
    },
  })

  beforeAll(async () => {
    api = await startApi({
      graphql: (road) => ({
        database: holding(road.database),
        auth: namedAuth,
        limits: { ...defaultLimits.operation, time: 3_000 },
      }),
    })
    for (const n of [1, 2, 3])
      await api.report({ reporter: `edge-${n}`, deviceId: `edge-${n}`, deploymentId: `d-${n}` })
  })
  afterEach(async () => {
    held = null
    isBroken = false
    await expect.poll(api.openSnapshots).toBe(0)
  })
  afterAll(() => api.close())

  async function read(
    query: string,
    accept: string,
    more: { readonly variables?: object; readonly method?: string } = {},
  ) {
    const { variables = {}, method = 'POST' } = more
    const isGet = method === 'GET'
    const url = isGet ? `${api.url}?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}` : api.url
    const response = await fetch(url, {
      method,
      headers: { accept, ...(!isGet && { 'content-type': 'application/json' }) },
      body: isGet ? null : JSON.stringify({ query, variables }),
    })
    const text = await response.text()
    return { response, text, parts: partsIn(text) }
  }

  it.each([
    [paths, 'multipart/mixed;boundary="graphql";deferSpec=20220824', 'POST'],
    [ids, 'multipart/mixed;boundary="graphql";incrementalSpec=v0.2', 'GET'],
    ['multipart/mixed', 'multipart/mixed;boundary="graphql"', 'POST'],
  ])('are sent to a client that accepts %s', async (accept, type, method) => {
    const { response, text, parts } = await read(document, `${accept}, ${rest}`, { method })
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('rollcall-revision')).toBe((await api.ask('{ revision }')).revision)
    expect(text).toMatch(/^\r\n--graphql\r\nContent-Type: application\/json\r\n\r\n\{.*--graphql--\r\n$/s)
    const [first, ...others] = parts
    expect(first).toMatchObject({ data: { revision: expect.any(String), list: { nodes: [{}] } }, hasNext: true })
    expect(JSON.stringify(first)).not.toMatch(/"total"|"device":/)
    expect(others.map(({ hasNext }) => hasNext)).toEqual([...others.slice(1).map(() => true), false])
  })

  it.each([
    ['application/json'],
    ['*/*'],
    ['multipart/mixed;subscriptionSpec=1.0, application/json'],
    ['multipart/mixed;deferSpec=20990101, application/json'],
    ['text/event-stream, application/json'],
  ])('are one answer for a client that accepts %s', async (accept) => {
    const { response, text } = await read(document, accept)
    const body = /^event/m.test(text) ? /^data: (\{.*)$/m.exec(text)?.[1] : text
    expect(response.headers.get('content-type')).not.toContain('multipart')
    expect(JSON.parse(body ?? '').data).toEqual(await api.ask(whole))
  })

  it.each([
    ['of 2022', new Defer20220824Handler()],
    ['of the present draft', new GraphQL17Alpha9Handler()],
  ])("are put together by Apollo's handler %s", async (_, incrementalHandler) => {
    const link = new HttpLink({ uri: api.url })
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link,
      incrementalHandler: incrementalHandler as never,
    })
    const results: unknown[] = []
    await new Promise<void>((resolve, reject) =>
      client.watchQuery({ query: gql(document) }).subscribe({
        next({ data, dataState, error }) {
          if (error) return reject(error)
          results.push(data)
          if (dataState === 'complete') resolve()
        },
        error: reject,
      }),
    )
    client.stop()
    expect(results.length).toBeGreaterThan(1)
    expect(
      JSON.parse(JSON.stringify(results.at(-1), (key, value) => (key === '__typename' ? undefined : value))),
    ).toEqual(await api.ask(whole))
  })

  it('are put together by urql', async () => {
    // It takes no part for an item that comes in the same part.
    const [text, same] = [document, whole].map((one) =>
      one.replace(/nodes .*/, 'nodes { deploymentId } edges { cursor ... @defer { node { id } } }'),
    )
    const client = new Client({ url: api.url, exchanges: [fetchExchange], preferGetMethod: false })
    const results: { readonly data?: unknown; readonly hasNext: boolean; readonly error?: unknown }[] = []
    await new Promise<void>((resolve) => {
      client.query(text ?? '', {}).subscribe((result) => {
        results.push(result)
        if (!result.hasNext) resolve()
      })
    })
    expect(results.length).toBeGreaterThan(1)
    expect(results.at(-1)).toMatchObject({
      error: undefined,
      data: await api.ask(same?.replaceAll(/@defer/g, '') ?? ''),
    })
  })

  it('are of one revision, whatever is written between them', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    const before = await api.ask('{ revision }')
    const answer = startReading('{ revision ... @defer { deploymentCounts { total } now: revision } }', ids)
    await answer.until(/"revision"/)
    const reported = api.report({ deploymentId: 'meanwhile' })
    // The embedded database writes when the snapshot is closed.
    if (api.road.database.kind === 'postgres') await reported
    resolve()
    const text = await answer.until(/--graphql--/)
    await reported
    expect(partsIn(text)[0]).toMatchObject({ data: before })
    expect(text).toContain(`{"deploymentCounts":{"total":3},"now":"${before.revision}"}`)
  })

  it('of many rows are read at once, by as many statements as without them', async () => {
    const rows = (defer: string) =>
      `{ deployments(first: 100) { nodes { id ... ${defer} { rollout { name } device { deviceId } } } } }`
    const statements = async (query: string, accept: string) => {
      api.statements()
      await read(query, accept)
      return api.statements()
    }
    expect(await statements(rows('@defer'), ids)).toBe(await statements(rows(''), 'application/json;x=1'))
  })

  it('release their snapshot when the client leaves', async () => {
    held = new Promise(() => undefined)
    const answer = startReading('{ revision ... @defer { deploymentCounts { total } } }', ids)
    await answer.until(/"revision"/)
    expect(api.openSnapshots()).toBe(1)
    answer.leave()
    await expect.poll(api.openSnapshots).toBe(0)
  })

  it.each([
    [ids, { completed: [{ id: '0', errors: [{ extensions: { code: 'TIMED_OUT', limit: 'time' } }] }], hasNext: false }],
    [paths, { errors: [{ extensions: { code: 'TIMED_OUT', limit: 'time' } }], hasNext: false }],
  ])('end at the time limit of the operation, in %s', async (accept, last) => {
    held = new Promise(() => undefined)
    const { parts } = await read('{ revision ... @defer { deploymentCounts { total } } }', accept)
    expect(parts.at(-1)).toMatchObject(last)
  })

  it.each([ids, paths])('have masked errors, in %s', async (accept) => {
    isBroken = true
    const before = api.logged.length
    const { text } = await read('{ revision ... @defer { deploymentCounts { total } } }', accept)
    expect(text).not.toContain('s3cret')
    expect(text).toMatch(/"code":"INTERNAL_SERVER_ERROR","id":"[-\w]{36}"/)
    expect(api.logged.length).toBeGreaterThan(before)
  })

  it.each([ids, paths])(
    'cost what the document costs without them, and are limited in number, in %s',
    async (accept) => {
      const costly = (directive: string) =>
        `{ deployments(first: 100) { nodes { ... ${directive} { rollout { deployments(first: 100) { nodes { history(first: 100) { nodes { at } } } } } } } } }`
      const refused = async (directive: string) =>
        JSON.parse((await read(costly(directive), `${accept}, ${rest}`)).text).errors[0].message
      expect(await refused('@defer')).toBe(await refused(''))
      const device = '{ __typename: "Device", deviceId: "edge-1" }'
      const many = (count: number) =>
        `{ _entities(representations: [${Array.from({ length: count }, () => device).join()}]) { __typename ... @defer { ... on Device { name } } } }`
      const { parts } = await read(many(maxParts), accept)
      expect(parts.at(-1)).toMatchObject({ hasNext: false })
      const twice = many(maxParts - 1).replace(
        '{ _entities',
        '{ a: revision ... @defer { b: revision } c: deployments { nodes @stream { id } } _entities',
      )
      const { text } = await read(twice, `${accept}, ${rest}`)
      expect(JSON.parse(text)).toMatchObject({
        data: null,
        errors: [{ extensions: { limit: 'parts', max: maxParts } }],
      })
    },
  )

  it('are refused for what would change data or subscribe', async () => {
    const register = 'registerDevices(input: { devices: [{ deviceId: "edge-9" }] })'
    for (const [text, message] of [
      [
        `mutation { ... @defer { ${register} { __typename } } }`,
        'Defer directive cannot be used on root mutation type',
      ],
      [
        'subscription { changes(after: "1") { cursor ... @defer { change { at } } } }',
        'Defer directive not supported on subscription',
      ],
      ['{ revision @stream }', 'Directive "@stream" cannot be used on non-list field'],
      ['{ ... @defer(label: "a") { revision } ... @defer(label: "a") { a: revision } }', 'must be unique'],
    ] as const) {
      const { errors } = JSON.parse((await read(text, `${ids}, ${rest}`)).text)
      expect(errors[0].message).toContain(message)
    }
    const { parts } = await read(
      `mutation { ${register} { __typename ... on RegisterDevicesSuccess { results { device { ... @defer { deviceId registered } } } } } }`,
      ids,
    )
    expect(JSON.stringify(parts.slice(1))).toContain('{"deviceId":"edge-9","registered":true}')
  })

  /** Reads as the answer comes. */
  function startReading(query: string, accept: string) {
    let text = ''
    let changed = (): void => undefined
    const request = httpRequest(api.url, { method: 'POST', headers: { accept, 'content-type': 'application/json' } })
    request.on('error', () => undefined)
    request.on('response', (response) =>
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        changed()
      }),
    )
    request.end(JSON.stringify({ query }))
    return {
      async until(form: RegExp): Promise<string> {
        while (!form.test(text)) await new Promise<void>((resolve) => (changed = resolve))
        return text
      },
      leave: () => request.destroy(),
    }
  }
})

// biome-ignore lint/suspicious/noExplicitAny: a test knows the shape of the parts.
function partsIn(text: string): any[] {
  return [...text.matchAll(/^\{.*$/gm)].map(([part]) => JSON.parse(part))
}
