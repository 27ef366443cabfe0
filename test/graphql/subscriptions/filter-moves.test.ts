/** Whatever moves a row into a filter or out of it, each live subscription with that filter sends an update. The scenarios have every field of the filters. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { markStalled } from '../../../src/ingest/commands/stall.ts'
import { type Stream, transports } from '../clients.ts'
import { createFacts } from '../filter-facts.ts'
import { deploymentScenarios, resourceScenarios, type Scenario } from '../filter-scenarios.ts'
import { type Api, startApi } from '../harness.ts'

let api: Api
let from: string
const open: Stream[] = []
beforeAll(async () => {
  api = await startApi()
  from = new Date().toISOString()
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.close()))
})
afterAll(() => api.close())

const facts = createFacts(() => api)
const { submit, part, error, report, rowOf, nodeOf, rolloutOf } = facts

const liveDeployments = {
  deploymentCounts:
    'subscription ($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { counts { total } } }',
  deployments: `subscription ($filter: DeploymentFilter) { deployments(filter: $filter) { removed rows { deployment { state } } } }`,
  deploymentGroups:
    'subscription ($filter: DeploymentFilter) { deploymentGroups(by: APPLICATION, filter: $filter) { removed rows { change } } }',
  deploymentCountsOverTime: `subscription ($filter: DeploymentFilter, $from: DateTime!) {
    deploymentCountsOverTime(filter: $filter, from: $from, step: 86400) { points { counts { total } } } }`,
}

const liveResources = {
  resourceCounts: 'subscription ($filter: ResourceFilter) { resourceCounts(filter: $filter) { counts { total } } }',
  resources: 'subscription ($filter: ResourceFilter) { resources(filter: $filter) { removed rows { change } } }',
}

const [webSocket] = transports
let count = 0
const newId = (): string => {
  count += 1
  return `s${count}`
}

function watch(document: string, variables: Record<string, unknown>): Stream {
  const stream = webSocket?.watch(api.url, document, variables) ?? expect.unreachable()
  open.push(stream)
  return stream
}

/** Numbers of updates after the first, by what subscribes with which filter. */
async function follow(documents: Readonly<Record<string, string>>, filters: readonly object[]) {
  const updates: Record<string, number> = {}
  await Promise.all(
    filters.flatMap((filter) =>
      Object.entries(documents).map(async ([name, document]) => {
        const stream = watch(document, { filter, from })
        await stream.data()
        const key = `${name} ${JSON.stringify(filter)}`
        updates[key] = 0
        const listen = async (): Promise<void> => {
          for (let next = await stream.next(); next; next = await stream.next()) updates[key] = (updates[key] ?? 0) + 1
        }
        listen().catch(() => undefined)
      }),
    ),
  )
  return () => Object.keys(updates).filter((key) => updates[key] === 0)
}

async function expectUpdates(
  { begin, filter: given, act }: Scenario,
  documents: Readonly<Record<string, string>>,
  variants: (id: string, filter: object) => Promise<readonly object[]>,
): Promise<void> {
  const id = newId()
  await begin?.(id)
  const filter = await given(id)
  const silent = await follow(documents, await variants(id, filter))
  await act(id)
  await expect.poll(silent).toEqual([])
}

describe('a subscription with a filter by', () => {
  it.each(Object.entries(deploymentScenarios(facts)))('%s of deployments follows it', async (field, scenario) => {
    await expectUpdates(scenario, liveDeployments, async (id, filter) => {
      const isLeaf = !['retired', 'group', 'where'].includes(field) && !('where' in filter)
      const base = isLeaf ? { where: filter } : filter
      const rollout = (await nodeOf(id))?.rollout.id
      // Other fields make the subscription watch fewer changes.
      return [
        filter,
        base,
        ...(field === 'clusters' || field === 'retired' ? [] : [{ ...base, deploymentIds: [id] }]),
        ...(rollout ? [{ ...base, rolloutIds: [rollout] }] : []),
      ]
    })
  })

  it.each(Object.entries(resourceScenarios(facts)))('%s of resources follows it', async (_, scenario) => {
    await expectUpdates(scenario, liveResources, async (id, filter) => [
      filter,
      { ...filter, instanceIds: [id] },
      { ...filter, rolloutIds: [await rolloutOf(id)] },
      ...('where' in filter ? [] : 'instanceIds' in filter ? [] : [{ where: filter }]),
    ])
  })
})

describe('live counts of', () => {
  const cases: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    stalled: async (id) => submit(markStalled(await rowOf(id))),
    waiting: (id) => report(id, { state: 'PENDING', error }),
    inconsistent: (id) => report(id, { state: 'PENDING', components: [part(id, 'FAILED')] }),
    withError: (id) => report(id, { state: 'PENDING', error }),
  }
  it.each(Object.entries(cases))('%s deployments follow them', async (field, act) => {
    const id = newId()
    await report(id, { state: 'PENDING', components: [] })
    const arguments_ = 'filter: { deploymentIds: [$id] }'
    const counts = watch(`subscription ($id: String!) { deploymentCounts(${arguments_}) { counts { ${field} } } }`, {
      id,
    })
    const series = watch(
      `subscription ($id: String!, $from: DateTime!) { deploymentCountsOverTime(${arguments_}, from: $from, step: 86400) { points { counts { ${field} } } } }`,
      { id, from },
    )
    const read = async () => [
      (await counts.data()).deploymentCounts.counts,
      (await series.data()).deploymentCountsOverTime.points.at(-1).counts,
    ]
    expect(await read()).toEqual([{ [field]: 0 }, { [field]: 0 }])
    await act(id)
    expect(await read()).toEqual([{ [field]: 1 }, { [field]: 1 }])
  })
})
