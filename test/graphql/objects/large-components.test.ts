/** Components that are large are read when they are selected, some at once; small ones come with their row, in the same statement. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type Api, startApi } from '../harness.ts'

const large = 3
const digest = (text: string): string => createHash('sha512').update(text).digest('base64')
/** Nothing that compresses well. */
const componentsOf = (n: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    name: `component-${i}`,
    state: 'FAILED' as const,
    error: {
      code: 'E42',
      message: Array.from({ length: 6 }, (_, k) => digest(`${n} ${i} ${k}`)).join(''),
      source: 'edge',
    },
  }))

describe.each(stores)('on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
    for (let n = 0; n < large; n += 1)
      await api.report({
        reporter: 'edge',
        deploymentId: `d-${n}`,
        state: 'FAILED',
        components: componentsOf(n, 1_000),
      })
    await api.report({ reporter: 'edge', deploymentId: 'small', state: 'FAILED', components: componentsOf(9, 2) })
  })
  afterAll(() => api.close())

  async function statementsOf(document: string): Promise<number> {
    api.statements()
    await api.ask(document)
    return api.statements()
  }

  it('are read when they are selected, in statements of so many bytes', async () => {
    expect(await statementsOf('{ deployments { nodes { id state } } }')).toBe(1)
    expect(await statementsOf('{ deployments(first: 1) { nodes { components { name } } } }')).toBe(1)
    // Their sizes, and three statements: two of them are more than a mebibyte together.
    expect(await statementsOf('{ deployments { nodes { components { name } } } }')).toBe(5)
    expect(await statementsOf('{ deployments { edges { node { components { name } } } } }')).toBe(5)
  })

  it('are answered whole wherever they are asked for, also of the past', async () => {
    const told = (n: number) =>
      componentsOf(n, 1_000).map(({ name, error }) => ({ name, error: { message: error.message } }))
    const fields = 'components { id name error { message } }'
    const { deployments, revision } = await api.ask(
      `{ revision deployments(orderBy: NAME) { nodes { deploymentId ${fields} } } }`,
    )
    for (let n = 0; n < large; n += 1) expect(deployments.nodes[n].components).toMatchObject(told(n))
    const [{ id }] = deployments.nodes[1].components
    expect(await api.ask(`{ node(id: "${id}") { ... on Component { name } } }`)).toEqual({
      node: { name: 'component-0' },
    })
    const removed = { reporter: 'edge', deploymentId: 'd-1', state: 'REMOVED' as const, components: [] }
    await api.report(removed)
    const { deployment } = await api.ask(`{ deployment(deploymentId: "d-1", atRevision: "${revision}") { ${fields} } }`)
    expect(deployment.components).toMatchObject(told(1))
  })
})
