/** Counts of resources equal their lists, in GraphQL and in EMCO's answers, for any reports and any filter. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'

describe.each(stores)('resources that an orchestrator reports, on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  const apps = ['sink', 'source', 'packet-gen']
  const clusters = ['p+edge01', 'p+edge02', 'q+edge01']
  const names = ['a', 'b', 'c', 'd']
  const kinds = ['Deployment', 'ConfigMap', 'Network']
  const some = <T>(values: readonly T[]) => fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined })
  const fed = fc.array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('apply' as const),
          app: fc.constantFrom(...apps),
          cluster: fc.constantFrom(...clusters),
          name: fc.constantFrom(...names),
          kind: fc.constantFrom(...kinds),
          status: fc.constantFrom('Pending', 'Applied', 'Failed', 'Retrying', 'Deleted'),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('show' as const),
          app: fc.constantFrom(...apps),
          cluster: fc.constantFrom(...clusters),
          deployments: fc.subarray(names),
          ready: fc.subarray(names),
          pods: fc.subarray(['a-1', 'b-1']),
        }),
      },
    ),
    { minLength: 1, maxLength: 25 },
  )
  const wanted = fc.record({ apps: some(apps), clusters: some(clusters), names: some([...names, 'a-1']) })

  it('have counts that equal their lists, for any reports and any filter', async () => {
    await fc.assert(
      fc.asyncProperty(fed, fc.array(wanted, { minLength: 1, maxLength: 3 }), async (facts, filters) => {
        const emco = newGroup(server)
        const context = newContext()
        await emco.act('Created', 'Approved', `Instantiated ${context}`)
        for (const fact of facts)
          if (fact.do === 'apply') await emco.apply(context, [fact])
          else
            await emco.show(
              context,
              {
                deploymentStatuses: fact.deployments.map((name) => shownDeployment(name, fact.ready.includes(name))),
                podStatuses: fact.pods.map((name) => ({ metadata: { name }, status: { phase: 'Running' } })),
              },
              fact,
            )
        for (const filter of [{}, ...filters]) await recount(emco.key, emco.status, context, filter)
      }),
      { numRuns: someOf(5, 12) },
    )
  })

  async function recount(
    key: object,
    status: (query: string) => Promise<Answer>,
    context: string,
    filter: { apps?: string[] | undefined; clusters?: string[] | undefined; names?: string[] | undefined },
  ): Promise<void> {
    const numbers = `total sync { pending applied failed retrying deleted } presence { unknown notPresent present }
      readiness { unknown pending ready failed }`
    const counts = `resourceCounts(filter: $filter) { ${numbers} }`
    const answer = await server.query(
      `query ($key: RolloutKey!, $filter: ResourceFilter, $run: ResourceFilter) {
        resourceCounts(filter: $run) { ${numbers} }
        rollout(key: $key) {
          ${counts}
          instance { ${counts} resources(filter: $filter, first: 100) { totalCount nodes {
            sync presence readiness component name } } }
          deployments { nodes { ${counts} components { ${counts} } } }
        }
      }`,
      { key, filter, run: { ...filter, instanceIds: [context] } },
    )
    const { instance } = answer.rollout
    const rows: Answer[] = instance.resources.nodes
    const tally = (field: string, words: readonly string[]) =>
      Object.fromEntries(
        words.map((word) => [
          word,
          rows.filter((row) => row[field] === word.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()).length,
        ]),
      )
    const expected = {
      total: rows.length,
      sync: tally('sync', ['pending', 'applied', 'failed', 'retrying', 'deleted']),
      presence: tally('presence', ['unknown', 'notPresent', 'present']),
      readiness: tally('readiness', ['unknown', 'pending', 'ready', 'failed']),
    }
    expect(instance.resources.totalCount).toBe(rows.length)
    expect(answer.resourceCounts).toEqual(expected)
    expect(instance.resourceCounts).toEqual(expected)
    expect(answer.rollout.resourceCounts).toEqual(expected)
    const { nodes } = answer.rollout.deployments
    const parts: Answer[] = nodes.flatMap(({ components }: Answer) => components)
    for (const level of [nodes, parts])
      expect(level.reduce((sum: number, { resourceCounts }: Answer) => sum + resourceCounts.total, 0)).toBe(rows.length)

    const list = (name: string, values: readonly string[] | undefined) =>
      values?.map((value) => `&${name}=${encodeURIComponent(value)}`).join('') ?? ''
    const query = `${list('app', filter.apps)}${list('cluster', filter.clusters)}${list('resource', filter.names)}`
    for (const [asked, head, word] of [
      ['type=rsync', 'rsync-status', 'rsync-status'],
      ['type=cluster', 'cluster-status', null],
      ['status=deployed', 'deployedCounts', 'deployedStatus'],
      ['status=ready', 'readyCounts', 'readyStatus'],
    ] as const) {
      const told = await status(`?${asked}${query}`)
      const found: Answer[] = told.apps.flatMap((app: Answer) => app.clusters.flatMap((c: Answer) => c.resources))
      const recounted: Record<string, number> = {}
      const values =
        word === null ? rows.map(({ presence }) => presenceWords[presence] ?? presence) : found.map((row) => row[word])
      for (const value of values) {
        recounted[value] = (recounted[value] ?? 0) + 1
      }
      expect([asked, told[head]]).toEqual([asked, recounted])
      const summary = await status(`?output=summary&${asked}${query}`)
      expect(summary[head]).toEqual(told[head])
      const applied = rows.filter(({ sync }) => sync !== null).length
      if (asked === 'status=deployed' || asked === 'type=rsync') expect(found.length).toBe(applied)
      if (asked === 'type=cluster')
        expect(found.length).toBe(rows.filter(({ presence }) => presence === 'PRESENT').length)
    }
  }
})

/** EMCO's words for what a cluster shows. */
const presenceWords: Readonly<Record<string, string>> = {
  PRESENT: 'Present',
  NOT_PRESENT: 'NotPresent',
  UNKNOWN: 'Unknown',
}
