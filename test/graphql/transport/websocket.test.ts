import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { maxOperationsPerSocket } from '../../../src/api/graphql/guards/limits.ts'
import { type Api, startApi } from '../harness.ts'

interface Message {
  readonly type: string
  readonly id?: string
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape that it selected.
  readonly payload?: any
}

/** A socket without a client library, to test the raw protocol. */
async function connect(url: string, options: { origin?: string; protocol?: string; acknowledge?: boolean } = {}) {
  const { origin, protocol = 'graphql-transport-ws', acknowledge = true } = options
  const socket = new WebSocket(url.replace('http', 'ws'), protocol, origin === undefined ? {} : { headers: { origin } })
  const messages: Message[] = []
  const waiting: ((message: Message) => void)[] = []
  socket.on('message', (text) => {
    const message = JSON.parse(String(text))
    const next = waiting.shift()
    if (next) next(message)
    else messages.push(message)
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject))
  const send = (message: object): void => socket.send(JSON.stringify(message))
  const next = (): Promise<Message> => {
    const message = messages.shift()
    return message ? Promise.resolve(message) : new Promise((resolve) => waiting.push(resolve))
  }
  if (acknowledge) {
    send({ type: 'connection_init' })
    expect(await next()).toEqual({ type: 'connection_ack' })
  }
  const subscribe = (id: string, query: string, variables?: object): void =>
    send({ type: 'subscribe', id, payload: { query, ...(variables ? { variables } : {}) } })
  return { socket, send, next, closed, subscribe }
}

describe('WebSockets', () => {
  let api: Api

  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api.close())

  const subscribers = (): number => api.road.feed.subscribers.changes + api.road.feed.subscribers.states

  it('carry queries and mutations too', async () => {
    const client = createClient({ url: api.url.replace('http', 'ws'), webSocketImpl: WebSocket })
    const ask = (query: string) => client.iterate({ query }).next()
    expect((await ask('{ deploymentCounts { total } }')).value).toEqual({ data: { deploymentCounts: { total: 0 } } })
    expect((await ask('mutation { forgetDeployments(input: { ids: ["x"] }) { __typename } }')).value).toEqual({
      data: { forgetDeployments: { __typename: 'NotFound' } },
    })
    await client.dispose()
  })

  it('carry texts of every frame length', async () => {
    const { subscribe, next, socket } = await connect(api.url)
    const documents = ['{ __typename }', `{ __schema { directives { ${'n'.repeat(9_000)}: name } } }`]
    for (const document of documents) {
      const ask = async (id: string): Promise<string> => {
        subscribe(id, document)
        const text = JSON.stringify(await next())
        expect(await next()).toEqual({ id, type: 'complete' })
        return text
      }
      const answer = await ask('-')
      // A frame has its length in 7, 16 or 64 bits.
      for (const length of [125, 126, 127, 65_535, 65_536, 65_537]) {
        const rest = length - Buffer.byteLength(answer) - 1
        if (rest < 0 || rest > 40_000) continue
        const id = `é${'x'.repeat(rest)}`
        const text = await ask(id)
        expect(Buffer.byteLength(text)).toBe(length)
        expect(text).toBe(answer.replace('"id":"-"', `"id":"${id}"`))
      }
    }
    socket.close()
  })

  it('report a syntax error and an invalid document and stay open', async () => {
    const { subscribe, next, socket } = await connect(api.url)
    subscribe('1', '{ revision')
    expect(await next()).toMatchObject({
      type: 'error',
      id: '1',
      payload: [{ message: expect.stringContaining('Syntax Error') }],
    })
    subscribe('2', '{ nothing }')
    expect(await next()).toEqual({
      type: 'error',
      id: '2',
      payload: [
        {
          message: expect.stringContaining('Cannot query field'),
          locations: expect.anything(),
          extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
        },
      ],
    })
    subscribe('3', 'query ($r: Revision!) { changes(after: $r) { totalCount } }', { r: 'new' })
    expect(await next()).toMatchObject({
      type: 'next',
      id: '3',
      payload: { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] },
    })
    expect(await next()).toEqual({ type: 'complete', id: '3' })
    subscribe('4', `{ ${'__typename '.repeat(3_000)}`)
    expect(await next()).toMatchObject({ type: 'error', id: '4' })
    subscribe('5', '{ __typename }')
    expect(await next()).toEqual({ type: 'next', id: '5', payload: { data: { __typename: 'Query' } } })
    socket.close()
  })

  it('say what is wrong with the name of an operation, as HTTP does', async () => {
    const client = await connect(api.url)
    for (const [payload, message] of [
      [{ query: 'query A { revision } query B { revision }' }, '2 operations: name one of them in operationName'],
      [{ query: 'query A { revision }', operationName: 'B' }, 'no operation with the operationName "B"'],
      [
        { query: 'query A { revision }', operationName: 'B'.repeat(1_000) },
        `no operation with the operationName "${'B'.repeat(60)}…"`,
      ],
      [{ query: 'fragment A on Query { revision }' }, 'no operation'],
    ] as const) {
      const errors = [{ message: `the document has ${message}`, extensions: { code: 'OPERATION_RESOLUTION_FAILURE' } }]
      client.send({ type: 'subscribe', id: 'name', payload })
      expect(await client.next()).toEqual({ type: 'error', id: 'name', payload: errors })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(api.url, { method: 'POST', headers, body: JSON.stringify(payload) })
      expect([response.status, await response.json()]).toEqual([400, { errors }])
    }
    client.socket.close()
  })

  it('have the same limits as HTTP', async () => {
    const { subscribe, next, socket } = await connect(api.url)
    subscribe('1', `{ ${'a '.repeat(10_001)} }`)
    expect(await next()).toMatchObject({
      type: 'error',
      payload: [{ message: expect.stringContaining('10000 tokens') }],
    })
    socket.close()
  })

  it('refuse messages that are too large', async () => {
    const { subscribe, closed } = await connect(api.url)
    subscribe('1', `{ __typename } # ${'x'.repeat(65 * 1024)}`)
    expect((await closed).code).toBe(1009)
    expect(await api.ask('{ __typename }')).toEqual({ __typename: 'Query' })
  })

  it('refuse operations above the limit of concurrent ones', async () => {
    const { subscribe, next, socket } = await connect(api.url)
    for (let i = 0; i <= maxOperationsPerSocket; i += 1) subscribe(String(i), 'subscription { changes { cursor } }')
    expect(await next()).toMatchObject({
      type: 'error',
      id: String(maxOperationsPerSocket),
      payload: [{ extensions: { code: 'TOO_MANY', retryable: true } }],
    })
    await expect.poll(subscribers).toBe(maxOperationsPerSocket)
    socket.close()
    await expect.poll(subscribers).toBe(0)
  })

  it('end a subscription when it is completed, and all of them when the socket breaks', async () => {
    const { subscribe, send, socket } = await connect(api.url)
    subscribe('1', 'subscription { changes { cursor } }')
    subscribe('2', 'subscription { deploymentCounts { cursor } }')
    subscribe('3', 'subscription { deployment(deploymentId: "x") { cursor } }')
    await expect.poll(subscribers).toBe(3)
    send({ type: 'complete', id: '1' })
    await expect.poll(subscribers).toBe(2)
    socket.terminate()
    await expect.poll(subscribers).toBe(0)
    await expect.poll(api.openSnapshots).toBe(0)
  })

  it('close with the codes of the protocol', async () => {
    const unknown = await connect(api.url, { protocol: 'graphql-ws', acknowledge: false }).catch(
      (error: unknown) => error,
    )
    expect(unknown).toBeInstanceOf(Error)
    const early = await connect(api.url, { acknowledge: false })
    early.subscribe('1', '{ __typename }')
    expect((await early.closed).code).toBe(4401)
    const twice = await connect(api.url)
    twice.send({ type: 'connection_init' })
    expect((await twice.closed).code).toBe(4429)
    const broken = await connect(api.url)
    broken.socket.send('{')
    expect((await broken.closed).code).toBe(4400)
    const same = await connect(api.url)
    same.subscribe('1', 'subscription { changes { cursor } }')
    same.subscribe('1', 'subscription { changes { cursor } }')
    expect((await same.closed).code).toBe(4409)
    await expect.poll(subscribers).toBe(0)
  })

  it('are only opened by listed origins', async () => {
    await expect(connect(api.url, { origin: 'https://evil.example' })).rejects.toThrow(/403/)
    await expect(connect(api.url, { origin: 'null' })).rejects.toThrow(/403/)
    const own = await connect(api.url, { origin: new URL(api.url).origin })
    own.socket.close()
    const open = await startApi({ graphql: { origins: ['https://board.example'] } })
    const named = await connect(open.url, { origin: 'https://board.example' })
    named.socket.close()
    await open.close()
  })

  it('disconnect a client that does not answer pings', async () => {
    const impatient = await startApi({ graphql: { keepAlive: 50 } })
    const { socket, subscribe, closed } = await connect(impatient.url)
    socket.pong = () => undefined
    // ws answers pings itself, by this method.
    Object.assign(socket, { _autoPong: false })
    subscribe('1', 'subscription { changes { cursor } }')
    expect((await closed).code).toBe(1006)
    await expect.poll(() => impatient.road.feed.subscribers.changes).toBe(0)
    await impatient.close()
  })

  it('are closed with 1001 when the server stops, without `complete`', async () => {
    const going = await startApi()
    const { subscribe, closed, next } = await connect(going.url)
    subscribe('1', 'subscription { deploymentCounts { counts { total } } }')
    expect(await next()).toMatchObject({ type: 'next' })
    const last = next()
    await going.graphql.dispose()
    expect(await closed).toEqual({ code: 1001, reason: 'Going away' })
    expect(await Promise.race([last, Promise.resolve('nothing')])).toBe('nothing')
    await going.close()
  })
})

describe('errors over WebSockets', () => {
  const secret = new Error('secret')

  /** A server whose feed or database fails as configured. */
  async function failing(how: 'resolver' | 'subscribe' | 'stream') {
    const server = await startApi({
      graphql: ({ feed, database }) => ({
        database: how === 'resolver' ? { session: database.session, snapshot: () => Promise.reject(secret) } : database,
        feed: {
          hub: feed.hub,
          watch: feed.watch,
          changes(options) {
            if (how === 'subscribe') throw secret
            const changes = feed.changes(options)
            return how === 'stream' ? { ...changes, next: () => Promise.reject(secret) } : changes
          },
        },
      }),
    })
    return { server, wire: await connect(server.url) }
  }

  const masked = {
    message: expect.stringMatching(/^Unexpected error [\da-f-]{36}/),
    extensions: { code: 'INTERNAL_SERVER_ERROR', id: expect.any(String) },
  }

  it('of a resolver are masked in the result', async () => {
    const { wire, server } = await failing('resolver')
    wire.subscribe('1', '{ revision }')
    expect(await wire.next()).toMatchObject({
      type: 'next',
      payload: { data: null, errors: [{ ...masked, path: ['revision'] }] },
    })
    expect(server.logged).toMatchObject([{ fields: { error: secret } }])
    await server.close()
  })

  it('of subscribing are masked', async () => {
    const { wire, server } = await failing('subscribe')
    wire.subscribe('1', 'subscription { changes { cursor } }')
    const answer = await wire.next()
    expect(answer).toMatchObject({ id: '1', payload: { errors: [masked] } })
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(server.logged).toMatchObject([{ fields: { error: secret } }])
    await server.close()
  })

  it('in the middle of a stream are masked, and end it', async () => {
    const { wire, server } = await failing('stream')
    wire.subscribe('1', 'subscription { changes { cursor } }')
    const answer = await wire.next()
    expect(answer).toMatchObject({ type: 'error', id: '1', payload: [masked] })
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(server.logged).toMatchObject([{ fields: { error: secret } }])
    await server.close()
  })
})
