/** Text that no store can hold, in every place of the schema that takes text: an answer or a refusal, never a failure of ours. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isScalarType,
  isUnionType,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { stores } from '../support/databases/stores.ts'
import { isDeep } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

type Place = (inner: string) => string
interface Case {
  readonly operation: 'query' | 'mutation'
  readonly place: Place
  readonly field: GraphQLField<unknown, unknown>
  readonly variables: Readonly<Record<string, unknown>>
}
interface Request {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
}
interface Answer {
  readonly errors?: readonly { readonly path?: readonly (string | number)[] }[]
}
/** In requests the ID of a rollout that exists, and a time that is part of the history. */
const someRollout = '%ROLLOUT%'
const someTime = '%TIME%'

/** From Query to every object type that is reached without required arguments, the shortest way. */
function ways(): ReadonlyMap<GraphQLObjectType, Place> {
  const root = schema.getQueryType() as GraphQLObjectType
  const found = new Map<GraphQLObjectType, Place>([[root, (inner) => `{ ${inner} }`]])
  for (const [type, place] of found)
    for (const field of Object.values(type.getFields())) {
      const named = getNamedType(field.type)
      if (field.args.some(isRequiredArgument)) continue
      const types = isObjectType(named)
        ? [named]
        : isInterfaceType(named) || isUnionType(named)
          ? schema.getPossibleTypes(named)
          : []
      for (const one of types)
        if (!found.has(one))
          found.set(one, (inner) =>
            place(`${field.name}${choiceOf(field)} { ${one === named ? inner : `... on ${one.name} { ${inner} }`} }`),
          )
    }
  return found
}

/** Without a choice, `rollout` refuses before it looks at anything below. */
const choiceOf = ({ name, args }: GraphQLField<unknown, unknown>): string =>
  name === 'rollout' && args.some((arg) => arg.name === 'id') ? `(id: "${someRollout}")` : ''

/** Every value of this type with `text` at one of its leaves, and the least elsewhere. */
function withText(type: GraphQLInputType, text: string, depth = 3): readonly unknown[] {
  if (isNonNullType(type)) return withText(type.ofType, text, depth)
  if (isListType(type)) return withText(type.ofType, text, depth).map((value) => [value])
  if (isScalarType(type) && type.name === 'JSON') return [text, { [text]: [text] }]
  if (isScalarType(type)) return ['String', 'ID'].includes(type.name) ? [text] : []
  if (!isInputObjectType(type) || depth === 0) return []
  const each = Object.values(type.getFields()).flatMap((field) =>
    withText(field.type, text, depth - 1).map((value) => ({ [field.name]: value })),
  )
  // Conditions on a key and a value are statements of their own.
  const together = each.length > 1 && !type.isOneOf ? [Object.assign({}, ...each.toReversed())] : []
  return [...each, ...together].map((value) => ({ ...required(type), ...value }))
}

function required(type: GraphQLInputObjectType): Readonly<Record<string, unknown>> {
  const fields = Object.values(type.getFields()).filter((field) => isNonNullType(field.type))
  return Object.fromEntries(fields.map((field) => [field.name, least(field.type)]))
}

function least(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return least(type.ofType)
  if (isListType(type)) return []
  if (isInputObjectType(type)) return required(type)
  if (isScalarType(type) && type.name === 'DateTime') return someTime
  return isEnumType(type) ? type.getValues()[0]?.name : ['Int', 'Float'].includes(type.name) ? 1 : 'x'
}

function casesOf(
  place: Place,
  field: GraphQLField<unknown, unknown>,
  text: string,
  operation: 'query' | 'mutation' = 'query',
): Case[] {
  const given = (name: string) => field.args.filter((arg) => arg.name === name || isRequiredArgument(arg))
  return field.args.flatMap((arg) =>
    withText(arg.type, text).map((value) => ({
      ...{ operation, place, field },
      variables: Object.fromEntries(given(arg.name).map((one) => [one.name, one === arg ? value : least(one.type)])),
    })),
  )
}

/** One request of several cases in one place. */
function requestOf(some: readonly [Case, ...Case[]]): Request {
  const [{ operation, place }] = some
  const declared: string[] = []
  const variables: Record<string, unknown> = {}
  const fields = some.map(({ field, variables: own }, index) => {
    const args = field.args.filter(({ name }) => name in own)
    for (const { name, type } of args) {
      declared.push(`$${name}_${index}: ${type}`)
      variables[`${name}_${index}`] = own[name]
    }
    const passed = args.map(({ name }) => `${name}: $${name}_${index}`).join(', ')
    return `_${index}: ${field.name}(${passed}) ${selectionOf(getNamedType(field.type))}`
  })
  return { query: `${operation} (${declared.join(', ')}) ${place(fields.join(' '))}`, variables }
}

/** Mutations one by one, because each changes what the next finds. */
function batchesOf(all: readonly Case[]): readonly (readonly [Case, ...Case[]])[] {
  const batches: [Case, ...Case[]][] = []
  for (const one of all) {
    const last = batches.at(-1)
    const [first] = last ?? []
    const fits = first?.place === one.place && one.operation === 'query' && (last?.length ?? 0) < 10
    if (last && fits) last.push(one)
    else batches.push([one])
  }
  return batches
}

/** Of a connection also its rows and their number, so that its statements run. */
function selectionOf(type: GraphQLNamedType): string {
  if (isLeafType(type)) return ''
  const names = isObjectType(type) ? Object.keys(type.getFields()) : []
  return `{ __typename ${names.includes('nodes') ? 'nodes { __typename }' : ''} ${names.includes('totalCount') ? 'totalCount' : ''} }`
}

const texts = ['a\0b', '\ud800', 'a\udc00+b']
const allCases = texts.map((text) =>
  [...ways()].flatMap(([type, place]) =>
    Object.values(type.getFields()).flatMap((field) => casesOf(place, field, text)),
  ),
)
const allChanges = texts.map((text) =>
  Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap((field) =>
    casesOf((inner) => `{ ${inner} }`, field, text, 'mutation'),
  ),
)
/** Every text in every place, or the texts in turn. */
const chosen = (all: readonly (readonly Case[])[]): readonly Case[] =>
  isDeep
    ? all.flat()
    : (all[0] ?? []).map((_, index) => all[index % texts.length]?.[index]).filter((one) => one !== undefined)
const [cases, changes] = [chosen(allCases), chosen(allChanges)]

describe.each(stores)('on %s', (store) => {
  let server: RunningApp
  let rollout = ''
  let time = ''
  beforeAll(async () => {
    server = await startApp({ store })
    await server.post('/reports', {
      reports: [
        {
          deviceId: 'edge-1',
          deploymentId: 'd-1',
          status: { state: 'installed' },
          components: [{ name: 'web', state: 'installed' }],
        },
      ],
    })
    await fetch(`${server.url}/v1/instance/i-1`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: readFileSync(join(import.meta.dirname, '../fixtures/k8splugin/instance.json')),
    })
    rollout = (await server.query('{ rollouts(first: 1) { nodes { id } } }')).rollouts.nodes[0].id
    time = new Date().toISOString()
  })
  afterAll(() => server.stop())

  it.each([
    ['is never sent to the store', cases, 200],
    ['comes in by no mutation', changes, 50],
  ])('%s', async (_, requests, least) => {
    expect(requests.length).toBeGreaterThan(least)
    const failed: unknown[] = []
    async function send(some: readonly [Case, ...Case[]]): Promise<void> {
      const request = requestOf(some)
      const body = JSON.stringify(request).replaceAll(someRollout, rollout).replaceAll(someTime, time)
      const response = await server.post('/graphql', body)
      const text = await response.text()
      if (
        response.status >= 500 ||
        /INTERNAL_SERVER_ERROR|UNAVAILABLE|GRAPHQL_VALIDATION_FAILED|Syntax Error/.test(text)
      )
        failed.push({ request, text })
      const { errors = [] }: Answer = JSON.parse(text)
      if (some.length === 1 || errors.length === 0) return
      // A refusal of one may have kept the others from the store. If it names no case, each is sent alone.
      const refused = new Set(errors.flatMap(({ path = [] }) => path))
      const [first, ...rest] = some.filter((_, index) => !refused.has(`_${index}`))
      if (first && rest.length + 1 < some.length) await send([first, ...rest])
      else for (const one of some) await send([one])
    }
    for (const some of batchesOf(requests)) await send(some)
    expect(failed).toEqual([])
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})
