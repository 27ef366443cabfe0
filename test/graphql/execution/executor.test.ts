/** The extended executor, on a schema that fails in every place. */
import { buildSchema, type ExecutionResult, parse, validateExecutionArgs } from 'graphql'
import { expect, it } from 'vitest'
import { createBudget } from '../../../src/api/graphql/execution/budget.ts'
import { startExecution } from '../../../src/api/graphql/execution/executor.ts'
import { maxRows } from '../../../src/api/graphql/guards/limits.ts'
import { createRefuse } from '../../../src/platform/limits/limits.ts'
import { expectNoUnhandledRejections } from '../../support/rejections.ts'

const unhandled = expectNoUnhandledRejections()

const schema = buildSchema(`
  type Query { now: Int! soon: Int! later: Int! maybe: Int some: [Item] all: [Item!]! grid: [[Item]]! itself: Query! }
  type Item { id: Int! itself: Item! }
`)

const fail = async (mutex: number): Promise<never> => {
  for (let turn = 0; turn < mutex; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
  throw new Error(`failed after ${mutex}`)
}

/** `delay`: turns until a list resolves. Its items fail after as many more. */
function rootOf(delay: number, itemDelay: number) {
  const list = () => [fail(itemDelay), { id: 1 }, fail(itemDelay + 1)]
  const after = async <T>(value: () => T): Promise<T> => {
    for (let turn = 0; turn < delay; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
    return value()
  }
  const root = {
    now() {
      throw new Error('failed at once')
    },
    soon: () => fail(0),
    later: () => fail(1),
    maybe: () => fail(0),
    some: () => after(list),
    all: () => after(list),
    grid: () => after(() => [list(), after(list), fail(itemDelay)]),
    itself: () => after(() => root),
  }
  return root
}

async function run(query: string, rootValue: unknown): Promise<ExecutionResult> {
  const validated = validateExecutionArgs({ schema, document: parse(query), rootValue })
  if (!('schema' in validated)) throw validated[0]
  return startExecution(validated, { budget: createBudget(createRefuse()), turn: () => undefined }).result
}

const lists = ['some { id }', 'all { id }', 'grid { id }', 'itself { some { id } all { id } grid { id } }']
const siblings = ['now', 'soon', 'later', 'maybe', 'itself { soon }']

it.each(lists)('handles rejections in a list after a sibling fails: %s', async (list) => {
  for (const sibling of siblings)
    for (const query of [`{ ${list} ${sibling} }`, `{ ${sibling} ${list} }`])
      for (const delay of [0, 1, 3])
        for (const itemDelay of [0, 1, 2]) {
          const { errors = [] } = await run(query, rootOf(delay, itemDelay))
          expect(errors.length).toBeGreaterThan(0)
          for (let turn = 0; turn < 4; turn += 1)
            expect(await unhandled(), `${query} ${delay} ${itemDelay}`).toEqual([])
        }
})

const wide = buildSchema('type Query { rows: [Row!]! } type Row { id: Int! rows: [Row!]! }')

/** `turn`: the promise to wait for before each object. */
function start(turn: () => Promise<void> | undefined, budget = createBudget(createRefuse())) {
  let executed = 0
  const row = {
    id() {
      executed += 1
      return 1
    },
    rows: () => Array.from({ length: 100 }, () => row),
  }
  const document = parse('{ rows { rows { id } } }')
  const validated = validateExecutionArgs({ schema: wide, document, rootValue: row })
  if (!('schema' in validated)) throw validated[0]
  return { ...startExecution(validated, { budget, turn }), executed: () => executed }
}

it('is synchronous while there is capacity, and otherwise waits before each object', async () => {
  const { result, executed } = start(() => undefined)
  expect(result).not.toBeInstanceOf(Promise)
  expect(executed()).toBe(10_000)
  let waits = 0
  const waiting = start(async () => {
    waits += 1
  })
  expect(waiting.executed()).toBe(0)
  expect(await waiting.result).toEqual(result)
  expect(waits).toBe(1 + 100 + 10_000)
})

it('executes nothing after it is stopped', async () => {
  const gate = Promise.withResolvers<void>()
  let objects = 0
  const { result, stop, executed } = start(() => {
    objects += 1
    return objects > 1_000 ? gate.promise : undefined
  })
  const before = executed()
  expect(before).toBeGreaterThan(0)
  stop(new Error('time is over'))
  await expect(result).rejects.toThrow('time is over')
  gate.resolve()
  for (let turn = 0; turn < 3; turn += 1) expect(await unhandled()).toEqual([])
  expect(executed()).toBe(before)
})

it('executes nothing after its budget is exceeded, and returns only that error', async () => {
  const budget = createBudget(createRefuse())
  budget.rows(maxRows - 500)
  const { result, executed } = start(() => undefined, budget)
  expect(await result).toMatchObject({ data: null, errors: [{ originalError: { facts: { limit: 'rows' } } }] })
  expect(executed()).toBeLessThanOrEqual(500)
})
