/** Responses that are assembled from shared fields equal those of an execution. */
import fc from 'fast-check'
import { buildSchema, type ExecutionResult, parse, validate, validateExecutionArgs } from 'graphql'
import { describe, expect, it } from 'vitest'
import { createBudget } from '../../../src/api/graphql/execution/budget.ts'
import type { ContextDeps } from '../../../src/api/graphql/execution/context.ts'
import { executeEvent } from '../../../src/api/graphql/execution/event-execution.ts'
import { type SelectionPlan, startExecution } from '../../../src/api/graphql/execution/executor.ts'
import { createFieldPlan } from '../../../src/api/graphql/execution/shared/field-plan.ts'
import { createSharedFields, type ObjectTypes } from '../../../src/api/graphql/execution/shared/shared-fields.ts'
import { maxAnswerSize, maxRows } from '../../../src/api/graphql/guards/limits.ts'
import { everyone } from '../../../src/domain/principal.ts'
import { createRefuse } from '../../../src/platform/limits/limits.ts'
import type { Snapshot } from '../../../src/store/database.ts'

const schema = buildSchema(`
  scalar JSON
  enum Color { RED GREEN }
  input Where { color: Color = RED near: Where name: String }
  interface Named { name: String! }
  type Query { node: Node! }
  type Node implements Named {
    name: String!
    quoted: String
    nothing: String
    number(plus: Int = 1, where: Where): Float
    flags: [Boolean]
    data: JSON
    failing: String
    required: String!
    late: Int
    node(name: String, where: Where): Node
    leaf: Leaf
    all(first: Int = 2): [Named]
    either: [Either!]
    grid: [[Leaf]]
    many(count: Int!): [Leaf!]
    long: String
  }
  type Leaf implements Named { name: String! color: Color required: String! }
  union Either = Node | Leaf
`)

function nodeOf(depth: number, name = 'root'): object {
  const child = () => (depth > 4 ? null : nodeOf(depth + 1, `${name}/child`))
  const leaf = (own: string) => ({
    __typename: 'Leaf',
    name: own,
    color: 'GREEN',
    required: own === 'bad' ? null : own,
  })
  return {
    __typename: 'Node',
    name,
    quoted: 'a "quoted" \\ é\u2028 line\n',
    nothing: null,
    number: ({ plus, where }: { plus: number; where?: { color: string; name?: string } }) =>
      plus + (where?.color === 'GREEN' ? 0.5 : 0) + (where?.name?.length ?? 0),
    flags: [true, null, false],
    data: { list: [1, { two: null }], text: 'x' },
    failing: () => {
      throw new Error(`${name} fails`)
    },
    required: depth % 2 === 0 ? name : null,
    late: async () => depth,
    node: (given: { name?: string }) => (given.name === 'none' ? null : nodeOf(depth + 1, given.name ?? 'child')),
    leaf: async () => leaf(name),
    all: ({ first }: { first: number }) => [child(), leaf('one'), leaf('two')].slice(0, first),
    either: async () => [leaf('one'), child() ?? leaf('bad')],
    grid: [[leaf('one'), null], null, [leaf('two')]],
    many: ({ count }: { count: number }) => Array.from({ length: count }, () => leaf('one')),
    long: 'x'.repeat(100_000),
  }
}

const rootValue = { node: nodeOf(0) }

function prepare(document: string, variableValues: Record<string, unknown> = {}) {
  const args = validateExecutionArgs({ schema, document: parse(document), rootValue, variableValues })
  if (!('schema' in args)) throw args[0]
  return { args, plan: createFieldPlan(args) }
}

type Prepared = ReturnType<typeof prepare>

async function execute({ args }: Prepared, types: ObjectTypes | null = null): Promise<ExecutionResult> {
  const metering = { budget: createBudget(createRefuse()), turn: () => undefined }
  const plan: SelectionPlan = new Map()
  return startExecution(args, metering, plan, types).result
}

async function add(shared: ReturnType<typeof createSharedFields>, own: Prepared): Promise<ExecutionResult> {
  const types: ObjectTypes = new Map()
  const result = await execute(own, types)
  shared.add(own.plan, result, types, true)
  return result
}

const plain = ['name', 'quoted', 'nothing', 'flags', 'data', 'late', 'required', 'failing', '__typename']
const leaf = ['name', 'color', '__typename', 'required']
const directive = fc.constantFrom('', '', '', ' @include(if: $yes)', ' @skip(if: $yes)', ' @include(if: $no)')
const alias = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.stringMatching(/^a[0-9]: $/) },
)
const where = fc.constantFrom(
  '',
  '(where: { color: GREEN })',
  '(where: { near: { color: GREEN }, name: $name })',
  '(where: { name: "xy" })',
)
const several = (one: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(one, { minLength: 1, maxLength: 4 }).map((fields) => fields.join(' '))
const named = (name: fc.Arbitrary<string>, below: fc.Arbitrary<string> = fc.constant('')): fc.Arbitrary<string> =>
  fc.tuple(alias, name, directive, below).map((parts) => parts.join(''))
const braced = (fields: fc.Arbitrary<string>): fc.Arbitrary<string> => fields.map((text) => ` { ${text} }`)

const { node } = fc.letrec<{ node: string; field: string; leaf: string; abstract: string }>((tie) => ({
  node: several(tie('field')),
  leaf: several(fc.oneof(named(fc.constantFrom(...leaf)), fc.constant('... on Named { name }'))),
  abstract: several(
    fc.oneof(
      fc.constant('__typename'),
      braced(tie('leaf')).map((own) => `... on Leaf${own}`),
      braced(tie('node')).map((own) => `... on Node${own}`),
      fc.constant('... on Named { name }'),
    ),
  ),
  field: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    named(fc.constantFrom(...plain)),
    named(fc.constantFrom('number', 'number(plus: 2)', 'number(plus: $two)', 'number(where: { name: $name })')),
    named(fc.constant('leaf'), braced(tie('leaf'))),
    named(fc.constant('grid'), braced(tie('leaf'))),
    named(fc.constantFrom('all', 'all(first: $two)', 'all(first: 3)', 'either'), braced(tie('abstract'))),
    named(
      where.map((own) => `node${own}`),
      braced(tie('node')),
    ),
    named(fc.constantFrom('node(name: "none")', 'node(name: $name)'), braced(tie('node'))),
    fc.constant('...Common'),
    braced(tie('node')).map((own) => `...${own}`),
  ),
}))

const document = node
  .map((fields) => {
    const common = fields.includes('...Common')
      ? ' fragment Common on Node { name own: number(plus: $two) leaf { color } }'
      : ''
    const used = ['$two: Int = 2', '$name: String', '$yes: Boolean = true', '$no: Boolean = false']
    const variables = used.filter((own) => (fields + common).includes(own.slice(0, own.indexOf(':'))))
    return `query ${variables.length > 0 ? `(${variables.join(', ')})` : ''} { node { ${fields} } }${common}`
  })
  .filter((text) => validate(schema, parse(text)).length === 0)

const variables = fc.record(
  { two: fc.constantFrom(1, 2), name: fc.constantFrom('none', 'xy', null), yes: fc.boolean() },
  { requiredKeys: [] },
)

describe('the fields of an event', () => {
  it('make the responses that executions of random documents make', async () => {
    let assembled = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(document, variables), { minLength: 2, maxLength: 8 }), async (documents) => {
        const shared = createSharedFields()
        for (const [text, values] of documents) {
          const own = prepare(text, values as Record<string, unknown>)
          const found = shared.textOf(own.plan)
          const result = await (found === null ? add(shared, own) : execute(own))
          if (found !== null) assembled += 1
          if (found !== null) expect(found).toBe(JSON.stringify(result))
          // A result without errors is shared from now on.
          expect(shared.textOf(own.plan)).toBe(result.errors ? null : JSON.stringify(result))
        }
      }),
      { numRuns: 400 },
    )
    expect(assembled).toBeGreaterThan(100)
  })

  it('are not executed again for a document that selects some of them under other names', async () => {
    const shared = createSharedFields()
    await add(
      shared,
      prepare('{ node { name number(plus: 2) either { ... on Leaf { name color } ... on Node { name } } } }'),
    )
    const other = prepare('query ($n: Int) { a: node { b: number(plus: $n) either { ... on Leaf { c: color } } } }', {
      n: 2,
    })
    expect(shared.textOf(other.plan)).toBe('{"data":{"a":{"b":2,"either":[{"c":"GREEN"},{}]}}}')
    expect(shared.textOf(prepare('{ node { number(plus: 3) } }').plan)).toBeNull()
    expect(shared.textOf(prepare('{ node { either { __typename } } }').plan)).toBeNull()
  })

  it('are not shared if a field of the result fails', async () => {
    const shared = createSharedFields()
    await add(shared, prepare('{ node { name failing } }'))
    expect(shared.isEmpty()).toBe(true)
    await add(shared, prepare('{ node { name } }'))
    expect(shared.textOf(prepare('{ node { name failing } }').plan)).toBeNull()
  })

  it('are not assembled beyond the limits of an execution', async () => {
    const shared = createSharedFields()
    await add(shared, prepare('{ node { long name many(count: 1900) { name } } }'))
    const aliases = (count: number, field: string) =>
      prepare(`{ node { ${Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')} } }`)
    const texts = Math.floor(maxAnswerSize / 100_000)
    expect(shared.textOf(aliases(texts - 1, 'long').plan)).toHaveLength(
      JSON.stringify(await execute(aliases(texts - 1, 'long'))).length,
    )
    expect(shared.textOf(aliases(texts + 1, 'long').plan)).toBeNull()
    expect(shared.textOf(aliases(Math.ceil(maxRows / 1900), 'many(count: 1900) { name }').plan)).toBeNull()
    const { errors } = await execute(aliases(texts + 1, 'long'))
    expect(errors).toHaveLength(1)
  })

  it('are waited for while the first execution has not ended, but not for long', async () => {
    const shared = createSharedFields()
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    shared.wait(first.promise)
    const pending = shared.pending()
    expect(pending).not.toBeNull()
    shared.wait(second.promise)
    first.reject(new Error('failed'))
    await pending
    expect(shared.pending()).toBeNull()
    shared.wait(second.promise)
    expect(shared.pending()).toBeNull()
    const other = createSharedFields()
    other.wait(new Promise(() => undefined))
    await other.pending()
    expect(other.pending()).toBeNull()
  })

  it('are not added from a result that is too large to be assembled', async () => {
    const shared = createSharedFields()
    await add(shared, prepare('{ node { many(count: 2100) { name } name } }'))
    expect(shared.textOf(prepare('{ node { many(count: 2100) { name } } }').plan)).toBeNull()
    await add(shared, prepare('{ node { name } }'))
    expect(shared.textOf(prepare('{ node { name } }').plan)).toBe('{"data":{"node":{"name":"root"}}}')
  })

  it.each([
    { snapshot: null, shown: { name: 'new', state: 2 }, what: 'are not mixed if each execution reads its own present' },
    {
      snapshot: {} as Snapshot,
      shown: { name: 'old', state: 2 },
      what: 'are merged if all executions read one snapshot',
    },
  ])('$what', async ({ snapshot, shown }) => {
    const devices = buildSchema(
      'type Query { payload: Payload } type Payload { list: [Device!]! } type Device { name: String state: Int }',
    )
    let present = { name: 'old', state: 1 }
    const event = { payload: { list: async () => [present] }, resumeFrom: null, snapshot, release: () => undefined }
    const deps = {
      auth: {},
      database: {},
      limits: { time: 10_000, refuse: createRefuse() },
      slices: { enter: () => undefined },
    }
    const shared = createSharedFields()
    const show = async (fields: string): Promise<object> => {
      const document = parse(`{ payload { list { ${fields} } } }`)
      const args = validateExecutionArgs({ schema: devices, document })
      if (!('schema' in args)) throw args[0]
      const caller = { principal: everyone, document, plan: new Map(), fields: null }
      const own = await executeEvent(deps as unknown as ContextDeps, args as never, event, caller, shared)
      return JSON.parse(own.text ?? JSON.stringify(own.result)).data.payload.list[0]
    }
    await show('name')
    present = { name: 'new', state: 2 }
    await show('state')
    expect(await show('name state')).toEqual(shown)
  })
})
