/** When rollouts were created, started, changed last and finished: shown, ordered, in the past, and by what a caller may see. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { alpha, declare, munich, register } from '../access-scope-fleet.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

interface Shown {
  readonly name: string
}

describe.each(stores)('the times of rollouts on $name', (store) => {
  let api: Api
  let between: string
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await register(api, 'm-1', 'munich')
    await register(api, 'o-1', 'oslo')
    await declare(api, 'early', 'alpha', [
      ['m-1', 'e-1'],
      ['o-1', 'e-2'],
    ])
    await declare(api, 'late', 'alpha', [['m-1', 'l-1']])
    await declare(api, 'idle', 'beta', [['o-1', 'i-1']])
    await api.report({ reporter: 'm-1', deploymentId: 'l-1', state: 'INSTALLED' })
    await api.report({ reporter: 'm-1', deploymentId: 'e-1', state: 'INSTALLED' })
    between = (await api.ask('{ revision }')).revision
    await api.report({ reporter: 'o-1', deploymentId: 'e-2', state: 'FAILED' })
    await declare(api, 'late', 'alpha', [['o-1', 'e-2']])
  })
  afterAll(() => api.close())

  const times = 'name createdRevision createdAt startedRevision startedAt changedRevision finishedRevision finishedAt'
  const namesBy = async (orderBy: string, as?: string) =>
    (await api.ask(`{ rollouts(orderBy: ${orderBy}) { nodes { name } } }`, {}, as)).rollouts.nodes.map(
      ({ name }: Shown) => name,
    )

  it('are shown', async () => {
    const { rollouts, changes } = await api.ask(
      `{ rollouts(orderBy: { field: NAME, direction: ASC }) { nodes { ${times} changes(last: 1) { nodes { revision at } } } }
        changes(first: 100) { nodes { revision at kind ... on DeploymentChange { deploymentId } } } }`,
    )
    const [early, idle, late] = rollouts.nodes
    const of = (id: string) => changes.nodes.filter((one: { deploymentId?: string }) => one.deploymentId === id)
    expect(idle).toMatchObject({ startedRevision: null, startedAt: null, finishedRevision: null, finishedAt: null })
    expect(late).toMatchObject({ startedRevision: of('l-1')[1].revision, startedAt: of('l-1')[1].at })
    expect(early).toMatchObject({ finishedRevision: of('e-2')[1].revision, finishedAt: of('e-2')[1].at })
    for (const { changedRevision, changes: own } of rollouts.nodes)
      expect(own.nodes).toMatchObject([{ revision: changedRevision }])
  })

  it('have the changes of the rollout, and those with which deployments left it', async () => {
    const { rollouts } = await api.ask(
      `{ rollouts(filter: { names: ["early"] }) { nodes { id changes(first: 100) { totalCount nodes { revision ... on DeploymentChange { deploymentId } } } } } }`,
    )
    const [{ id, changes }] = rollouts.nodes
    const filtered = await api.ask(
      'query ($id: ID!) { changes(first: 100, filter: { rolloutIds: [$id] }) { totalCount nodes { revision ... on DeploymentChange { deploymentId } } } }',
      { id },
    )
    expect(changes).toEqual(filtered.changes)
    expect(changes.totalCount).toBe(changes.nodes.length)
    expect(changes.nodes.at(-1)).toMatchObject({ deploymentId: 'e-2' })
  })

  it('select rollouts, and so do labels, of what the caller sees', async () => {
    const selected = async (where: string, as?: string) =>
      (
        await api.ask(`{ rollouts(filter: { where: ${where} }) { totalCount nodes { name } } }`, {}, as)
      ).rollouts.nodes.map(({ name }: Shown) => name)
    const { rollout } = await api.ask('{ rollout(key: { name: "idle", project: "beta" }) { createdAt } }')
    const oslo = '{ label: { key: "site", equals: "oslo" } }'
    expect(await selected(oslo)).toEqual(['idle', 'late'])
    expect(await selected(`{ not: ${oslo} }`)).toEqual(['early'])
    expect(await selected('{ failing: true }')).toEqual(['late'])
    expect(await selected(`{ or: [{ names: ["early"] }, { startedAfter: "${rollout.createdAt}" }] }`)).toContain(
      'early',
    )
    // Neither labels nor failures nor times of what the caller does not see.
    expect(await selected(oslo, munich)).toEqual([])
    expect(await selected('{ failing: true }', munich)).toEqual([])
    for (const time of ['startedAfter', 'changedAfter', 'finishedAfter'])
      expect(await selected(`{ ${time}: "2000-01-01T00:00:00Z" }`, munich)).toEqual([])
    expect(await selected(`{ not: ${oslo} }`, munich)).toEqual(['late', 'early'])
    expect(await selected(oslo, alpha)).toEqual(['late'])
  })

  it('order rollouts, page by page', async () => {
    expect(await namesBy('{ field: CREATED, direction: ASC }')).toEqual(['early', 'late', 'idle'])
    expect(await namesBy('{ field: NAME, direction: DESC }')).toEqual(['late', 'idle', 'early'])
    expect(await namesBy('{ field: STARTED }')).toEqual(['early', 'late', 'idle'])
    expect(await namesBy('{ field: CHANGED }')).toEqual(['late', 'early', 'idle'])
    expect(await namesBy('{ field: FINISHED }')).toEqual(['early', 'late', 'idle'])
    for (const field of ['CREATED', 'STARTED', 'CHANGED', 'FINISHED', 'NAME'])
      for (const direction of ['ASC', 'DESC']) {
        const order = `{ field: ${field}, direction: ${direction} }`
        const seen: string[] = []
        for (let after: string | null = null; ; ) {
          const { rollouts } = await api.ask(
            `query ($after: String) { rollouts(first: 1, after: $after, orderBy: ${order}) { nodes { name } pageInfo { hasNextPage endCursor } } }`,
            { after },
          )
          seen.push(...rollouts.nodes.map(({ name }: Shown) => name))
          after = rollouts.pageInfo.endCursor
          if (!rollouts.pageInfo.hasNextPage) break
        }
        expect([order, seen]).toEqual([order, await namesBy(order)])
      }
  })

  it('are those of the past', async () => {
    const document = `query ($r: Revision) { rollout(key: { name: "early", project: "alpha" }, atRevision: $r) { asOf ${times} } }`
    const { rollout } = await api.ask(document, { r: between })
    expect(rollout).toMatchObject({
      asOf: between,
      changedRevision: between,
      startedRevision: between,
      finishedRevision: null,
    })
    const { rollout: now } = await api.ask(document)
    expect(now.asOf).toBeNull()
    expect(Number(now.changedRevision)).toBeGreaterThan(Number(between))
    expect(Number(now.finishedRevision)).toBeGreaterThan(Number(between))
  })

  it('show nothing of other deployments to a caller with labels, and all to one with the project', async () => {
    const document = `{ rollouts(orderBy: { field: NAME }) { nodes { ${times} changedAt } } }`
    const [late] = (await api.ask(document, {}, munich)).rollouts.nodes
    expect(late.createdAt).not.toBeNull()
    expect(late).toMatchObject({
      name: 'late',
      startedAt: null,
      startedRevision: null,
      changedAt: null,
      finishedAt: null,
    })
    const { errors } = await api.query('{ rollouts(orderBy: { field: CHANGED }) { nodes { name } } }', {}, munich)
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
    expect(await namesBy('{ field: FINISHED }', alpha)).toEqual(['early', 'late'])
    const own = await api.ask(`{ rollouts(filter: { projects: ["alpha"] }) { nodes { ${times} } } }`)
    expect((await api.ask(`{ rollouts { nodes { ${times} } } }`, {}, alpha)).rollouts).toEqual(own.rollouts)
  })
})
