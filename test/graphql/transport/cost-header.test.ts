/** The cost of an operation in the extensions of its answer, for requests that ask for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Api, startApi } from '../harness.ts'

describe('Rollcall-Cost', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api.close())

  async function ask(query: string, headers: Record<string, string> = {}, variables = {}) {
    const response = await fetch(api.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
    })
    return (await response.json()) as { extensions?: object; data?: object; errors?: object }
  }
  const included = { 'rollcall-cost': 'include' }

  it('adds the cost and its limit, also where equal requests are cached', async () => {
    const query = 'query ($n: Int) { deployments(first: $n) { nodes { id state } } }'
    const plain = { data: { deployments: { nodes: [] } } }
    for (const n of [10, 100])
      for (let times = 0; times < 3; times += 1) {
        expect(await ask(query, {}, { n })).toEqual(plain)
        const cost = { value: 1 + n * (1 + 2), max: 500_000 }
        expect(await ask(query, included, { n })).toEqual({ ...plain, extensions: { cost } })
      }
  })

  it('shows the cost of what is refused for it', async () => {
    const page = (inner: string) => `deployments(first: 100) { nodes { rollout { ${inner} } } }`
    const { errors, extensions } = await ask(`{ ${page(page(page('name')))} }`, included)
    expect(errors).toMatchObject([{ extensions: { code: 'LIMIT_EXCEEDED', limit: 'cost' } }])
    expect(extensions).toMatchObject({ cost: { max: 500_000 } })
  })

  it('names the conditions that no index serves, before they are refused or read', async () => {
    const unindexed = async (query: string, variables = {}) =>
      ((await ask(query, included, variables)).extensions as { cost: { unindexed?: string[] } }).cost.unindexed
    expect(
      await unindexed('{ deployments(filter: { states: [FAILED], hasError: true }) { totalCount } }'),
    ).toBeUndefined()
    const query =
      '{ deployments(filter: { lastHeardAfter: "2026-01-01T00:00:00Z", lastHeardBefore: null }) { totalCount } }'
    expect(await unindexed(query)).toEqual(['deployments.filter.lastHeardAfter'])
    const time = '2026-01-01T00:00:00Z'
    const filter = {
      label: { key: 'site', notIn: ['a'] },
      where: {
        and: [
          { or: [{ lastHeardBefore: time }, { not: { lastHeardAfter: time } }] },
          { not: { lastHeardAfter: time } },
        ],
      },
    }
    const document =
      'query ($f: DeploymentFilter) { ...Counts } fragment Counts on Query { all: deploymentCounts(filter: $f) { total } }'
    expect(await unindexed(document, { f: filter })).toEqual([
      'deploymentCounts.filter.label.notIn',
      'deploymentCounts.filter.where.lastHeardAfter',
      'deploymentCounts.filter.where.lastHeardBefore',
    ])
    expect(await unindexed('{ changes(filter: { label: { key: "site" } }) { totalCount } }')).toEqual([
      'changes.filter.label',
    ])
  })

  it('is absent for other values, and where nothing is executed', async () => {
    expect(await ask('{ revision }', { 'rollcall-cost': 'yes' })).not.toHaveProperty('extensions')
    expect(await ask('{ nothing }', included)).not.toHaveProperty('extensions')
    expect(await ask('query ($n: Int!) { deployments(first: $n) { totalCount } }', included)).not.toHaveProperty(
      'extensions',
    )
  })
})
