/** Documents made from the schema: what a client may ask, and what one would that has misread it. */
import fc from 'fast-check'
import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { schema } from '../../src/api/graphql/schema.ts'

export interface RandomRequest {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
}

export type Choose = <T>(from: readonly T[]) => T
export type Chance = (percent: number) => boolean

const texts = [
  'd-1',
  'edge-1',
  'fleet',
  '',
  'x'.repeat(300),
  '\u0000',
  '\ud800',
  'RGVwbG95bWVudDox',
  '__proto__',
  '%',
  "'; --",
  '1795000000000000',
  '2026-01-01T00:00:00Z',
]
const wellFormed: Readonly<Record<string, readonly string[]>> = {
  DateTime: ['2026-01-01T00:00:00Z', '1970-01-01T00:00:00.001+01:00', '9999-12-31T23:59:59Z'],
  Revision: ['1', '1767323045000000', '1767323045000003', '9007199254740991'],
}
const numbers = [0, 1, 2, 7, 100, 101, -1, 2 ** 31, 1.5, 1e300]
const anything: readonly unknown[] = [null, true, 'd-1', 3, 1.5, [], [[1]], {}, { a: { b: [null] } }]

/** `root`: whose fields are asked. */
export function randomRequest(root: 'Query' | 'Mutation'): fc.Arbitrary<RandomRequest> {
  return fc.gen().map((gen) => {
    const choose: Choose = (from) => from[gen(fc.nat, { max: from.length - 1 })] as (typeof from)[number]
    const chance: Chance = (percent) => gen(fc.nat, { max: 99 }) < percent
    return makeRequest(schema.getType(root) as GraphQLObjectType, choose, chance)
  })
}

/** The same with some of its characters gone, doubled or replaced. */
export const brokenRequest: fc.Arbitrary<RandomRequest> = fc
  .tuple(
    randomRequest('Query'),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('', '{', '}', '(', '"', '$', '@', '...', ':', '!', '[', '\\', '\u0000', '"""', '#'),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([{ query, variables }, edits]) => ({
    variables,
    query: edits.reduce((text, [at, by]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + by + text.slice(place + (by === '' ? 3 : 1))
    }, query),
  }))

export function makeRequest(root: GraphQLObjectType, choose: Choose, chance: Chance): RandomRequest {
  const variables: Record<string, unknown> = {}
  const declared: string[] = []
  const fragments: string[] = []

  function selection(type: GraphQLNamedType, depth: number): string {
    const fields =
      isObjectType(type) || 'getFields' in type ? Object.values((type as GraphQLObjectType).getFields()) : []
    const parts: string[] = ['__typename']
    for (let n = choose([1, 1, 2, 3]); n > 0 && fields.length > 0; n--) {
      const field = choose(fields)
      const named = getNamedType(field.type)
      const isLeaf = !('getFields' in named) && !isAbstractType(named)
      if (!isLeaf && depth === 0) continue
      const alias = chance(30) ? `a${choose([1, 2, 3, 4, 5, 6, 7, 8, 9])}: ` : ''
      const directive = chance(3)
        ? ` @${choose(['include', 'skip'])}(if: ${choose(['true', 'true', 'false', '1'])})`
        : ''
      const inner = isLeaf !== chance(1) ? '' : ` ${selection(named, depth - 1)}`
      parts.push(`${alias}${chance(1) ? 'nothing' : field.name}${args(field.args)}${directive}${inner}`)
    }
    if (isAbstractType(type) && depth > 0) {
      const one = choose(schema.getPossibleTypes(type))
      parts.push(`... on ${one.name} ${selection(one, depth - 1)}`)
    }
    if (isObjectType(type) && depth > 0 && chance(10)) {
      const name = `F${fragments.length}`
      fragments.push('')
      fragments[Number(name.slice(1))] = `fragment ${name} on ${type.name} ${selection(type, depth - 1)}`
      parts.push(`...${chance(2) ? 'F0' : name}`)
    }
    return `{ ${parts.join(' ')} }`
  }

  function args(all: readonly GraphQLArgument[]): string {
    const given = all.filter((arg) => isNonNullType(arg.type) || chance(35)).filter(() => !chance(1))
    if (given.length === 0) return ''
    return `(${given.map((arg) => `${arg.name}: ${chance(25) ? variable(arg.type) : literal(value(arg.type, 3), arg.type)}`).join(', ')})`
  }

  function variable(type: GraphQLInputType): string {
    const name = `v${declared.length}`
    declared.push(`$${name}: ${type}`)
    variables[name] = chance(10) ? choose(anything) : value(type, 3)
    return `$${name}`
  }

  function value(type: GraphQLInputType, depth: number): unknown {
    if (isNonNullType(type)) return value(type.ofType, depth) ?? choose(texts)
    if (chance(3)) return choose(anything)
    if (isListType(type)) return Array.from({ length: choose([0, 1, 1, 2, 5]) }, () => value(type.ofType, depth))
    if (isEnumType(type)) return choose(type.getValues()).name
    if (isInputObjectType(type))
      return Object.fromEntries(
        Object.values(type.getFields())
          .filter((field) => isNonNullType(field.type) || (depth > 0 && chance(40)))
          .map((field) => [field.name, value(field.type, depth - 1)]),
      )
    if (type.name === 'Boolean') return chance(50)
    if (['Int', 'Float'].includes(type.name)) return choose(numbers)
    if (type.name in wellFormed && chance(85)) return choose(wellFormed[type.name] ?? texts)
    return chance(3) ? choose(numbers) : choose(texts)
  }

  const body = selection(root, choose([2, 3, 5, 7]))
  const head = `${root.name.toLowerCase()}${declared.length > 0 ? ` (${declared.join(', ')})` : ''}`
  return { query: [`${head} ${body}`, ...fragments].join(' '), variables }
}

/** As GraphQL writes it. */
function literal(value: unknown, type: GraphQLInputType): string {
  if (typeof value === 'string') return isEnumType(getNamedType(type)) ? value || 'NONE' : JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, type)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const named = getNamedType(type)
  const fields = isInputObjectType(named) ? named.getFields() : {}
  const members = Object.entries(value).map(
    ([name, member]) => `${name}: ${literal(member, fields[name]?.type ?? type)}`,
  )
  return `{ ${members.join(', ')} }`
}
