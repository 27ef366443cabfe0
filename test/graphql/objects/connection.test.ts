import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { someOf } from '../../support/runner/depth.ts'
import { type Api, startApi } from '../harness.ts'

interface Edge {
  readonly cursor: string
  readonly node: { readonly deploymentId: string }
}

const fields = 'edges { cursor node { deploymentId } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
const ids = ['d-0', 'd-1', 'd-2', 'd-3', 'd-4']

describe('a connection', () => {
  let api: Api
  let cursors: readonly string[]

  beforeAll(async () => {
    api = await startApi()
    for (const deploymentId of ids) await api.report({ deploymentId })
    const { deployments } = await api.ask(`{ deployments(orderBy: NAME) { ${fields} } }`)
    cursors = deployments.edges.map(({ cursor }: Edge) => cursor)
  })
  afterAll(() => api.close())

  async function page(args: string) {
    const { deployments } = await api.ask(
      `{ deployments(orderBy: NAME, ${args}) { ${fields} nodes { deploymentId } } }`,
    )
    const { edges, nodes, pageInfo } = deployments
    expect(nodes).toEqual(edges.map(({ node }: Edge) => node))
    expect(pageInfo.startCursor).toBe(edges[0]?.cursor ?? null)
    expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor ?? null)
    const { hasNextPage, hasPreviousPage } = pageInfo
    return { ids: edges.map(({ node }: Edge) => node.deploymentId), hasNextPage, hasPreviousPage }
  }

  it('starts at the front, and reports that more rows follow', async () => {
    expect(await page('first: 2')).toEqual({ ids: ['d-0', 'd-1'], hasNextPage: true, hasPreviousPage: false })
  })

  it('starts at the back with `last`, and keeps the order', async () => {
    expect(await page('last: 2')).toEqual({ ids: ['d-3', 'd-4'], hasNextPage: false, hasPreviousPage: true })
  })

  it('continues after a cursor and before one', async () => {
    expect(await page(`first: 2, after: "${cursors[1]}"`)).toEqual({
      ids: ['d-2', 'd-3'],
      hasNextPage: true,
      hasPreviousPage: true,
    })
    expect(await page(`last: 2, before: "${cursors[2]}"`)).toEqual({
      ids: ['d-0', 'd-1'],
      hasNextPage: true,
      hasPreviousPage: false,
    })
    expect(await page(`first: 9, after: "${cursors[0]}", before: "${cursors[3]}"`)).toEqual({
      ids: ['d-1', 'd-2'],
      hasNextPage: true,
      hasPreviousPage: true,
    })
  })

  it('is empty after its end', async () => {
    expect(await page(`after: "${cursors[4]}"`)).toEqual({ ids: [], hasNextPage: false, hasPreviousPage: true })
    expect(await page(`last: 1, before: "${cursors[0]}"`)).toEqual({
      ids: [],
      hasNextPage: true,
      hasPreviousPage: false,
    })
  })

  it('accepts a size of 0, and reports whether rows exist', async () => {
    expect(await page('first: 0')).toEqual({ ids: [], hasNextPage: true, hasPreviousPage: false })
    expect(await page('last: 0')).toEqual({ ids: [], hasNextPage: false, hasPreviousPage: true })
    expect(await page(`first: 0, after: "${cursors[4]}"`)).toEqual({
      ids: [],
      hasNextPage: false,
      hasPreviousPage: true,
    })
  })

  it('has 20 rows by default and 100 at most', async () => {
    const reports = Array.from({ length: 105 }, (_, i) => api.report({ reporter: 'many', deploymentId: `m-${i}` }))
    await Promise.all(reports)
    const count = (args: string) =>
      api
        .ask(`{ deployments(filter: { reporters: ["many"] } ${args}) { totalCount nodes { id } } }`)
        .then(({ deployments }) => [deployments.nodes.length, deployments.totalCount])
    expect(await count('')).toEqual([20, 105])
    expect(await count('first: null, last: null')).toEqual([20, 105])
    expect(await count('first: 100')).toEqual([100, 105])
  })

  it.each([
    ['first: -1', 'first must be from 0 to 100, but is -1'],
    ['first: 101', 'first must be from 0 to 100, but is 101'],
    ['last: -1', 'last must be from 0 to 100, but is -1'],
    ['last: 2147483647', 'last must be from 0 to 100, but is 2147483647'],
    ['first: 1, last: 1', 'give either first or last, not both'],
  ])('refuses %s, wherever it stands', async (args, message) => {
    const everywhere = `{
      deployments(${args}) { totalCount }
      devices(${args}) { totalCount }
      rollouts(${args}) { totalCount }
      changes(${args}) { totalCount }
    }`
    const { errors } = await api.query(everywhere)
    expect(errors?.length).toBeGreaterThan(0)
    for (const error of errors ?? []) expect(error).toMatchObject({ message, extensions: { code: 'BAD_USER_INPUT' } })
  })

  it('nested in other connections is limited', async () => {
    // The estimated cost allows it; the counted rows exceed the limit.
    const all = 'deployments(first: 50, filter: { reporters: ["many"] }) { nodes { device'
    const { data, errors } = await api.query(`{ ${all} { ${all} { ${all} { deviceId ${'}'.repeat(10)}`)
    expect(data).toBeNull()
    expect(errors).toMatchObject([
      { message: expect.stringContaining('50000 rows'), extensions: { code: 'LIMIT_EXCEEDED' } },
    ])
    expect(api.openSnapshots()).toBe(0)
  })

  it('refuses a cursor of another list', async () => {
    const [cursor = ''] = cursors
    const { errors } = await api.query('query ($after: String) { devices(after: $after) { nodes { id } } }', {
      after: cursor,
    })
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('returns every row once when paged in either direction with any page size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.boolean(), async (size, backward) => {
        const seen: string[] = []
        for (let cursor: string | null = null, more = true; more; ) {
          const args: string = backward ? 'last: $size, before: $cursor' : 'first: $size, after: $cursor'
          const { deployments } = await api.ask(
            `query ($size: Int, $cursor: String) { deployments(filter: { reporters: ["edge-1"] }, orderBy: NAME, ${args}) { ${fields} } }`,
            { size, cursor },
          )
          const found = deployments.edges.map(({ node }: Edge) => node.deploymentId)
          seen[backward ? 'unshift' : 'push'](...found)
          const { hasNextPage, hasPreviousPage, startCursor, endCursor } = deployments.pageInfo
          more = backward ? hasPreviousPage : hasNextPage
          cursor = backward ? startCursor : endCursor
        }
        expect(seen).toEqual(ids)
      }),
      { numRuns: someOf(8, 20) },
    )
  })
})
