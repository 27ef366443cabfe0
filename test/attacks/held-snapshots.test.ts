/**
 * The embedded database has one connection, and an operation that reads has it to itself. If another field of the same operation asked for it again, each
 * would wait for the other, and everything else for both, until the turn is taken away. Here it never is: such an operation has no answer.
 */
import { type GraphQLField, getNamedType, isCompositeType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { openDatabase } from '../../src/store/open.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { argumentsOf } from './sibling-documents.ts'
import type { Answer } from './transports.ts'

const idleLimit = 2 ** 31 - 1
const reads = 'r: deployments(first: 1) { totalCount nodes { id } }'
/** It reads what it has written, so it leaves a snapshot open. */
const readsAndWrites = 'w: forgetDeployments(input: { ids: [] }) { __typename }'

type Field = GraphQLField<unknown, unknown>
const fieldsOf = (root: string): Field[] => {
  const type = schema.getType(root)
  return isObjectType(type) ? Object.values(type.getFields()) : []
}

/** Two levels of whatever can be asked without naming anything. */
function selectionOf(field: Field, depth = 2): string {
  const type = getNamedType(field.type)
  if (!isCompositeType(type)) return ''
  const inner = depth > 0 && isObjectType(type) ? Object.values(type.getFields()) : []
  const parts = inner
    .filter((one) => depth > 1 || !isCompositeType(getNamedType(one.type)))
    .map((one) => `${one.name}${argumentsOf(one)}${selectionOf(one, depth - 1)}`)
  return ` { __typename ${parts.join(' ')} }`
}

describe.each(stores)('on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    const empty = await store.create()
    server = await startApp({ on: { ...empty, open: () => openDatabase({ ...empty.config, idleLimit }) } })
    const body = { deploymentId: 'd-1', status: { state: 'installing' }, components: [] }
    expect((await server.post('/device/edge-1/deployment/d-1/status', body)).status).toBe(201)
    await server.query('mutation { createWebhook(input: { name: "w", url: "https://example.com/" }) { __typename } }')
  })
  afterAll(() => server.stop())

  async function expectAnswered(query: string): Promise<void> {
    const answer = (await (await server.post('/graphql', { query })).json()) as Answer
    expect(answer).toSatisfy(({ data, errors }: Answer) => data !== undefined || errors !== undefined)
    for (const { extensions } of answer.errors ?? [])
      expect(extensions?.code).not.toMatch(/VALIDATION|PARSE|INTERNAL|LIMIT/)
  }

  it.each(fieldsOf('Query'))('$name beside what reads', async (field) => {
    const own = `x: ${field.name}${argumentsOf(field)}${selectionOf(field)}`
    await expectAnswered(`{ ${reads} ${own} }`)
    await expectAnswered(`{ ${own} ${reads} }`)
  })

  it.each(fieldsOf('Mutation'))('$name after what reads', async (field) => {
    await expectAnswered(`mutation { ${readsAndWrites} x: ${field.name}${argumentsOf(field)} { __typename } }`)
  })
})
