/** The libraries of frontends, each on this client: questions, errors, and changes across a connection that is cut. */
import { ApolloClient, gql, InMemoryCache } from '@apollo/client'
import type { TypedDocumentNode } from '@urql/core'
import { Client as UrqlClient } from '@urql/core'
import { parse, print } from 'graphql'
import { afterAll, beforeAll, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { rollcallLink } from '../../src/apps/client/apollo.ts'
import { type Client, connect } from '../../src/apps/client/client.ts'
import { rollcallNetwork } from '../../src/apps/client/relay.ts'
import { rollcallExchange } from '../../src/apps/client/urql.ts'
import { webSocket } from '../../src/apps/client/websocket.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Changes, changes, startNetwork } from './harness.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

interface Library {
  /** The answer, or the codes of its errors. */
  ask(query: string): Promise<unknown>
  /** The returned function ends it. */
  follow(after: string, next: (data: Changes) => void): () => void
}

type Answer = { readonly data?: unknown; readonly errors?: readonly { readonly extensions?: unknown }[] | undefined }
const answerOf = ({ data, errors }: Answer): unknown => (errors ? errors.map(({ extensions }) => extensions) : data)

const libraries: Record<string, (client: Client) => Library> = {
  urql(client) {
    const urql = new UrqlClient({ url: 'unused:', preferGetMethod: false, exchanges: [rollcallExchange(client)] })
    return {
      async ask(query) {
        const { data, error } = await urql.query(query, {}).toPromise()
        return answerOf({ data, errors: error?.graphQLErrors })
      },
      follow: (after, next) => urql.subscription(changes, { after }).subscribe(({ data }) => next(data)).unsubscribe,
    }
  },
  Apollo(client) {
    const apollo = new ApolloClient({ link: rollcallLink(client), cache: new InMemoryCache() })
    return {
      async ask(query) {
        const { data, error } = await apollo.query({ query: gql(query), errorPolicy: 'all', fetchPolicy: 'no-cache' })
        return answerOf({ data, errors: (error as Answer | undefined)?.errors })
      },
      follow(after, next) {
        const results = apollo.subscribe<Changes>({ query: gql(changes), variables: { after } })
        const subscription = results.subscribe(({ data }) => next(data ?? expect.unreachable()))
        return () => subscription.unsubscribe()
      },
    }
  },
  Relay(client) {
    const network = rollcallNetwork(client)
    const execute = (text: string, operationKind: 'query' | 'subscription', variables: object) =>
      network.execute({ name: '', id: null, cacheID: '', metadata: {}, text, operationKind } as never, variables, {})
    return {
      ask: async (query) => answerOf((await execute(query, 'query', {}).toPromise()) as Answer),
      follow(after, next) {
        const sink = { next: (result: unknown) => next((result as { data: Changes }).data) }
        const subscription = execute(changes, 'subscription', { after }).subscribe(sink)
        return () => subscription.unsubscribe()
      },
    }
  },
}

const report = async (name: string, state: string): Promise<void> => {
  const body = { deploymentId: name, status: { state }, components: [] }
  expect((await server.post(`/device/edge-1/deployment/${name}/status`, body)).status).toBe(201)
}
const subscribers = async (): Promise<number> =>
  Number(/rollcall_subscribers\{kind="changes"\} (\d+)/.exec(await server.app.metrics.print())?.[1])

it.each(Object.entries(libraries))('%s asks and follows', async (name, make) => {
  const network = await startNetwork(server.url)
  const library = make(connect({ url: network.url, transport: webSocket() }))
  const { revision } = await server.query('{ revision }')
  expect(await library.ask('{ revision }')).toEqual({ revision })
  const past = '{ deployments(atRevision: "1", asOf: "2020-01-01T00:00:00Z") { totalCount } }'
  expect(await library.ask(past)).toEqual([expect.objectContaining({ code: 'BAD_USER_INPUT' })])
  const received: unknown[] = []
  const leave = library.follow(revision, (data) => received.push(data.changes.change?.revision))
  onTestFinished(leave)
  await report(name, 'pending')
  await expect.poll(() => received.length).toBeGreaterThan(0)
  network.cut()
  await report(name, 'failed')
  network.mend()
  await report(name, 'installed')
  const newest = Number((await server.query('{ revision }')).revision)
  const all = Array.from({ length: newest - Number(revision) }, (_, index) => String(Number(revision) + 1 + index))
  await expect.poll(() => received).toEqual(all)
  leave()
  await expect.poll(subscribers).toBe(0)
})

it('documents of code generators say what is answered and which variables are needed', async () => {
  type Found = { readonly deployments: { readonly totalCount: number } }
  const text = 'query ($first: Int!) { deployments(first: $first) { totalCount } }'
  const node = parse(text, { noLocation: true }) as TypedDocumentNode<Found, { readonly first: number }>
  const client = connect({ url: server.url, print })
  const found = await client.query(node, { first: 1 })
  expectTypeOf(found).toEqualTypeOf<Found>()
  expect(found.deployments.totalCount).toBeGreaterThan(0)
  // @ts-expect-error: a variable is missing.
  await expect(client.query(node, {})).rejects.toMatchObject({ code: expect.stringMatching(/\w/) })
  const located = parse('{ revision }') as TypedDocumentNode<{ readonly revision: string }, object>
  const plain = connect({ url: server.url })
  expect(await plain.query(located)).toEqual(await server.query('{ revision }'))
  await expect(plain.query(node, { first: 1 })).rejects.toThrow('pass `print`')
})
