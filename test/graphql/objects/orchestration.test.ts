/** Orchestrators' reports by mutation, and counts that always equal those of the lists. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, bundle, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'

const problem = '... on UserError { __typename message path }'

describe.each(stores)('an orchestrator on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  const mutate = async (name: string, input: object, success: string): Promise<Answer> => {
    const type = name.charAt(0).toUpperCase() + name.slice(1)
    const document = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Success { ${success} } ${problem} } }`
    return (await server.query(document, { input }))[name]
  }

  it('keeps the profile of a rollout if an action is repeated with another one, because a repeat has no revision', async () => {
    const group = newGroup(server)
    const create = (profile: string) =>
      group.call('POST', `${group.base}/actions`, { State: 'Created', 'composite-profile-name': profile })
    const shown = () =>
      server.query('query ($key: RolloutKey!) { revision rollout(key: $key) { compositeProfile } }', { key: group.key })
    await create('small')
    const before = await shown()
    expect(before.rollout.compositeProfile).toBe('small')
    await create('large')
    expect(await shown()).toEqual(before)
    await group.call('POST', `${group.base}/actions`, { State: 'Approved', 'composite-profile-name': 'large' })
    expect((await shown()).rollout.compositeProfile).toBe('large')
  })

  it('reports the same by mutation as by REST', async () => {
    const [rest, graphql] = [newGroup(server), newGroup(server)]
    const [a, b] = [newContext(), newContext()]
    const at = '2026-01-02T03:04:05.678Z'
    await rest.call('POST', `${rest.base}/actions`, { State: 'Created', 'composite-profile-name': 'x', TimeStamp: at })
    await rest.act('Approved', `Instantiated ${a}`)
    await rest.apply(a, [
      { name: 'one', detail: { kind: 'Deployment', metadata: { name: 'one' } } },
      { name: 'two', kind: 'Service', status: 'Pending', namespace: 'n' },
    ])
    await rest.show(a, { deploymentStatuses: [shownDeployment('one', false)] })
    await rest.call('PUT', '/v2/cluster-providers/p/clusters/edge01/connectivity', { connectivity: 'Retrying' })

    const rollout = graphql.key
    const act = (state: string, more: object = {}) =>
      mutate('recordAction', { rollout, state, ...more }, 'isRepeat revision rollout { state status }')
    expect(await act('CREATED', { compositeProfile: 'x', at })).toMatchObject({ isRepeat: false })
    expect(await act('APPROVED')).toMatchObject({ isRepeat: false, rollout: { state: 'APPROVED' } })
    expect(await act('INSTANTIATED', { instanceId: b })).toMatchObject({ rollout: { status: 'INSTANTIATING' } })
    expect(await act('INSTANTIATED', { instanceId: b })).toMatchObject({ isRepeat: true })
    const place = { component: 'sink', cluster: 'p+edge01' }
    const reported = await mutate(
      'reportResources',
      {
        rollout,
        instanceId: b,
        resources: [
          {
            ...place,
            group: 'apps',
            version: 'v1',
            kind: 'Deployment',
            name: 'one',
            sync: 'APPLIED',
            detail: { kind: 'Deployment', metadata: { name: 'one' } },
          },
          { ...place, kind: 'Service', name: '', version: 'v1' },
          { ...place, kind: 'Service', name: 'two', version: 'v1', namespace: 'n' },
          { ...place, cluster: 'edge01', kind: 'Service', name: 'three' },
        ],
      },
      'results { verdict problems { path message } }',
    )
    expect(reported.results).toEqual([
      { verdict: 'APPLIED', problems: [] },
      { verdict: null, problems: [{ path: ['resources', '1', 'name'], message: 'must not be empty' }] },
      { verdict: 'APPLIED', problems: [] },
      { verdict: null, problems: [{ path: ['resources', '3', 'cluster'], message: 'must be provider+name' }] },
    ])
    const shown = bundle(`${b}-sink`, { deploymentStatuses: [shownDeployment('one', false), 7] })
    const input = { rollout, cluster: 'p+edge01', resourceBundleState: shown }
    expect(await mutate('reportResourceBundleState', input, 'verdict unreadable { path }')).toMatchObject({
      verdict: 'APPLIED',
      unreadable: [{ path: ['resourceBundleState', 'status.deploymentStatuses[1]'] }],
    })
    const connectivity = { cluster: 'p+edge01', connectivity: 'RETRYING' }
    expect(await mutate('reportConnectivity', connectivity, 'verdict cluster { name provider }')).toMatchObject({
      verdict: 'UNCHANGED',
      cluster: { name: 'edge01', provider: 'p' },
    })

    const see = async ({ key }: { key: object }, context: string) => {
      const answer = await server.query(
        `query ($key: RolloutKey!) { rollout(key: $key) {
          state status readiness deploymentCounts { total pending installing installed failed }
          actions { state at instanceId instanceRevision }
          instance { instanceId status revisionNumber resources { nodes {
            component group version kind name namespace sync presence readiness reason message detail appliedDetail
            target { ... on Cluster { name connectivity } }
          } } }
          deployments { nodes { deploymentId state readiness components { name state readiness } } }
        } }`,
        { key },
      )
      const ids = JSON.stringify(answer).replaceAll(context, 'CONTEXT')
      return JSON.parse(
        ids.replace(/"(APPROVED|INSTANTIATED)","at":"[^"]*"/g, '"$1","at":"then"').replace(/dig\d+/g, 'DIG'),
      )
    }
    expect(await see(graphql, b)).toEqual(await see(rest, a))
  })

  it('gets every problem with its path', async () => {
    const { key } = newGroup(server)
    const resource = { component: 'a', cluster: 'p+c', kind: 'Pod', name: 'n' }
    const refused = async (name: string, input: object) => {
      const { __typename, path } = await mutate(name, input, '__typename')
      return [__typename, path?.join('.') ?? null]
    }
    expect(await refused('recordAction', { rollout: key, state: 'APPROVED' })).toEqual(['NotFound', null])
    await mutate('recordAction', { rollout: key, state: 'CREATED' }, 'revision')
    expect(await refused('recordAction', { rollout: key, state: 'TERMINATED' })).toEqual(['Conflict', 'state'])
    expect(await refused('recordAction', { rollout: { name: 'x' }, state: 'CREATED' })).toEqual([
      'InvalidInput',
      'rollout.project',
    ])
    expect(await refused('recordAction', { rollout: { ...key, provider: 'p' }, state: 'CREATED' })).toEqual([
      'InvalidInput',
      'rollout.project',
    ])
    const nowhere = { rollout: key, instanceId: '404404', resources: [resource] }
    expect(await refused('reportResources', nowhere)).toEqual(['NotFound', null])
    expect(await refused('reportResourceBundleState', { rollout: key, cluster: 'p', resourceBundleState: {} })).toEqual(
      ['InvalidInput', 'cluster'],
    )
    const [type] = await refused('reportResourceBundleState', {
      rollout: key,
      cluster: 'p+c',
      resourceBundleState: 'no object',
    })
    expect(type).toBe('InvalidInput')
  })

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

  it('finds deployments of a replaced instance by their past states, which no count has', async () => {
    const group = newGroup(server)
    const [a, b] = [newContext(), newContext()]
    await group.act('Created', 'Approved', `Instantiated ${a}`)
    await group.apply(a, [{ name: 'one' }])
    await group.act(`Updated ${b}`)
    const states = async (filter: object, atRevision: string | null = null) => {
      const document = `query ($filter: DeploymentFilter, $atRevision: Revision) {
        revision deployments(filter: $filter, atRevision: $atRevision) { nodes { state } } }`
      const { revision, deployments } = await server.query(document, { filter, atRevision })
      return { revision, states: deployments.nodes.map(({ state }: Answer) => state) }
    }
    const before = await states({ instanceIds: [a] })
    await group.apply(a, [{ name: 'one', status: 'Failed' }])
    expect((await states({ instanceIds: [a] })).states).not.toEqual(before.states)
    const then = { instanceIds: [a], states: before.states, where: { consistent: true } }
    expect((await states(then, before.revision)).states).toEqual(before.states)
    expect(before.states).toHaveLength(1)
  })

  it('gets counts that equal its lists, for any reports and any filter', async () => {
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
      { numRuns: 12 },
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
