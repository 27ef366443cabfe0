/**
 * What an answer may hold is spent while it is made: the most expensive thing that is allowed is answered in slices, what is more expensive is
 * refused by name, and neither holds up others. Counted in rows, characters, errors and turns, never in milliseconds alone.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  maxAnswerSize,
  maxErrors,
  maxReportedErrors,
  maxRows,
  maxVariableSize,
} from '../../src/api/graphql/guards/limits.ts'
import { encodeNodeId } from '../../src/api/graphql/objects/node.ts'
import { stores } from '../support/databases/stores.ts'
import { casesOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { jsonYardstick, longestStall } from '../support/stall.ts'
import { openSocket, subscribe, transports } from './transports.ts'

const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(' ')

const deployments = 60
const components = Array.from({ length: 1_000 }, (_, n) => ({
  name: `component-${n}`,
  state: 'failed',
  error: { code: 'E42', message: 'x'.repeat(300) },
}))
const introspection = '__schema { types { name description fields { name description args { name description } } } }'
const expired = encodeNodeId('Deployment', 1, 1)
const failing = (count: number): string => `nodes(ids: [${times(count, () => `"${expired}"`)}]) { id }`

/** A little below a limit, and beyond it. */
const budgets = {
  rows: [
    '{ deployments(first: 40) { nodes { components { name } } } }',
    '{ deployments(first: 100) { nodes { components { name } } } }',
  ],
  edges: [
    '{ deployments(first: 40) { edges { node { components { name } } } } }',
    '{ deployments(first: 100) { edges { node { components { name } } } } }',
  ],
  answerSize: [
    '{ deployments(first: 18) { nodes { components { name error { message } } } } }',
    '{ deployments(first: 30) { nodes { components { name error { message } } } } }',
  ],
  errors: [`{ ${failing(maxErrors)} }`, `{ a: ${failing(maxErrors)} b: ${failing(1)} }`],
  introspection: [
    `{ ${times(8, (n) => `a${n}: ${introspection}`)} }`,
    `{ ${times(98, (n) => `a${n}: ${introspection}`)} }`,
  ],
} as const
const limitOf = {
  rows: 'rows',
  edges: 'rows',
  answerSize: 'answerSize',
  errors: 'errors',
  introspection: 'rows',
} as const
const maxOf = { rows: maxRows, answerSize: maxAnswerSize, errors: maxErrors } as const

describe.each(stores)('on $name', (store) => {
  let server: RunningApp
  let yardstick: number
  beforeAll(async () => {
    server = await startApp({ store })
    for (let n = 0; n < deployments; n += 1) {
      const deploymentId = `d-${n}`
      const body = { deploymentId, status: { state: 'installing' }, components }
      const { status } = await server.post(`/device/edge-1/deployment/${deploymentId}/status`, body)
      expect(status).toBe(201)
    }
    yardstick = jsonYardstick(maxAnswerSize)
  })
  afterAll(async () => {
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
    await server.stop()
  })

  describe.each(transports)('over $name', ({ name: transport, ask }) => {
    const names = Object.keys(budgets) as (keyof typeof budgets)[]
    it.each(transport === 'HTTP' ? names : casesOf(1, names))('the budget of %s holds', async (name) => {
      const [allowed, tooMuch] = budgets[name]
      const { data, errors } = await ask(server.url, { query: allowed })
      expect(data).toBeTruthy()
      expect(errors ?? []).toHaveLength(name === 'errors' ? maxErrors : 0)
      const refused = await ask(server.url, { query: tooMuch })
      const limit = limitOf[name]
      expect(refused.data ?? null).toBeNull()
      expect(refused.errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit, max: maxOf[limit] } }])
    })

    it.skipIf(transport === 'HTTP')(
      'a subscription’s event is answered within the same budget, and the next one, too',
      async () => {
        const fields = 'cursor deployment { rollout { deployments(first: 100) { nodes { components { name } } } } }'
        const own = times(60, (n) => `a${n}: components { name }`)
        for (const selection of [fields, `cursor deployment { ${own} }`]) {
          const { data, errors } = await ask(server.url, {
            query: `subscription { deployment(deploymentId: "d-1") { ${selection} } }`,
          })
          if (selection === fields) expect(data).toBeTruthy()
          else expect(errors).toMatchObject([{ extensions: { limit: 'rows', max: maxRows } }])
        }
      },
    )
  })

  it('others are answered while it is made, and nothing stalls', async () => {
    for (const [name, [allowed, tooMuch]] of casesOf(1, Object.entries(budgets)))
      for (const query of [allowed, tooMuch]) {
        let answered = 0
        const stall = await longestStall(async () => {
          let isOver = false
          const work = server.post('/graphql', { query }).then(async (response) => {
            await response.arrayBuffer()
            isOver = true
          })
          while (!isOver) {
            await server.query('{ __typename }')
            answered += 1
          }
          await work
        })
        expect(answered, name).toBeGreaterThan(0)
        expect(stall, `${name} ${query.slice(0, 80)}`).toBeLessThan(10 * yardstick)
      }
  })
})

describe('what is wrong with a request is said shortly', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())
  const declare = 'mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }'
  const wrong = (size: number) => ({
    ...Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`unknown${n}`, n])),
    long: 'x'.repeat(size),
  })

  describe.each(transports)('over $name', ({ name, ask }) => {
    // A message of a WebSocket is smaller than the limit of variables.
    const sizes = name === 'WebSocket' ? [10, 60_000] : [10, 60_000, 2_000_000]

    it('a hundred unknown fields beside a long value are no long answer', async () => {
      for (const size of sizes) {
        const { errors = [] } = await ask(server.url, { query: declare, variables: { input: wrong(size) } })
        expect(errors.length).toBeGreaterThan(0)
        expect(errors.length).toBeLessThanOrEqual(maxReportedErrors + 1)
        for (const { message, extensions } of errors) {
          expect(message.length).toBeLessThanOrEqual(1_001)
          expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT' })
        }
      }
    })

    it('a document with a hundred long names that do not exist, and one of very many lines', async () => {
      const long = 'x'.repeat(name === 'WebSocket' ? 500 : 2_000)
      const lines = '\n'.repeat(name === 'WebSocket' ? 10_000 : 200_000)
      for (const query of [
        `{ ${times(99, (n) => `a${n}: ${long}${n}`)} }`,
        `{ ${lines} ${times(99, (n) => `a${n}: nothing`)} }`,
      ]) {
        const { errors = [] } = await ask(server.url, { query })
        expect(errors).toHaveLength(maxReportedErrors + 1)
        for (const { message } of errors) expect(message.length).toBeLessThanOrEqual(1_001)
      }
    })
  })

  it('variables have a limit of their own, before they are coerced', async () => {
    for (const { name, ask } of transports.filter((one) => one.name !== 'WebSocket')) {
      const variables = { input: wrong(maxVariableSize) }
      const { data, errors } = await ask(server.url, { query: declare, variables })
      expect(data ?? null, name).toBeNull()
      expect(errors).toMatchObject([
        { extensions: { code: 'LIMIT_EXCEEDED', limit: 'variableSize', max: maxVariableSize } },
      ])
    }
    const many = { input: { deployments: Array.from({ length: 700_000 }, () => 0) } }
    const { errors } = (await (await server.post('/graphql', { query: declare, variables: many })).json()) as {
      errors: unknown
    }
    // The body's values are counted before anything of it is made.
    expect(errors).toMatchObject([{ extensions: { code: 'TOO_LARGE' } }])
    const url = `${server.url}/graphql?query=${encodeURIComponent('{ revision }')}&variables=${encodeURIComponent('{"a":1}')}`
    expect((await fetch(url)).status).toBe(200)
  })

  it('a WebSocket goes on after each of them', async () => {
    const socket = await openSocket(server.url)
    const { errors } = await subscribe(socket, '1', { query: declare, variables: { input: wrong(60_000) } })
    expect(errors?.length).toBeGreaterThan(0)
    expect(await subscribe(socket, '2', { query: '{ __typename }' })).toEqual({ data: { __typename: 'Query' } })
    socket.terminate()
  })
})
