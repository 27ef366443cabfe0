/** Orchestrators' reports by mutation, and deployments of their former instances. */
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
})
