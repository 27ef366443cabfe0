/** Lists of clusters, and counts of devices by connectivity. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { reportConnectivity } from '../../../src/ingest/commands/connectivity.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import { stores } from '../../support/databases/stores.ts'
import { declare, munich, register } from '../access-scope-fleet.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

describe.each(stores)('clusters on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
    const object = {
      group: '',
      version: 'v1',
      kind: 'Pod',
      namespace: null,
      component: 'web',
      sync: 'APPLIED' as const,
    }
    for (const [index, [project, provider, cluster]] of [
      ['alpha', 'p', 'edge'],
      ['hidden', 'q', 'edge'],
      ['hidden', 'p', 'core'],
    ].entries()) {
      const name = deploymentIntentGroup(project ?? '', 'app', 'v1', `dig-${index}`) as LifecycleRolloutName
      const instanceId = `70${index}`
      const actions = [
        { ...fact, state: 'CREATED' },
        { ...fact, state: 'APPROVED' },
        { ...fact, state: 'INSTANTIATED', instanceId },
      ] as const
      await api.road.writer.submit(recordActions(name, actions, 'an operator'))
      const target = { kind: 'CLUSTER', provider: provider ?? '', name: cluster ?? '' } as const
      await api.road.writer.submit(
        reportResources(name, instanceId, [{ ...object, target, name: 'pod', showable: true }]),
      )
    }
    await api.road.writer.submit(reportConnectivity({ kind: 'CLUSTER', provider: 'q', name: 'edge' }, 'RETRYING'))
    for (const [device, site] of [
      ['m-1', 'munich'],
      ['m-2', 'munich'],
      ['o-1', 'oslo'],
    ] as const)
      await register(api, device, site)
    await declare(api, 'r', 'alpha', [['m-1', 'd']])
    await api.report({ reporter: 'm-1', deploymentId: 'd' })
    await api.report({ reporter: 'o-1', deploymentId: 'd' })
  })
  afterAll(() => api.close())

  const clusters = async (args: string, as?: string) =>
    (
      await api.ask(
        `{ clusters${args} { totalCount nodes { provider name connectivity } pageInfo { hasNextPage endCursor } } }`,
        {},
        as,
      )
    ).clusters

  it('are listed by name, page by page, and filtered', async () => {
    const all = await clusters('')
    expect(all.totalCount).toBe(3)
    expect(all.nodes.map(({ provider, name }: { provider: string; name: string }) => `${provider}/${name}`)).toEqual([
      'p/core',
      'p/edge',
      'q/edge',
    ])
    const first = await clusters('(first: 2)')
    const second = await clusters(`(first: 2, after: "${first.pageInfo.endCursor}")`)
    expect([...first.nodes, ...second.nodes]).toEqual(all.nodes)
    expect(await clusters('(filter: { providers: ["p"], names: ["edge"] })')).toMatchObject({ totalCount: 1 })
    expect(await clusters('(filter: { connectivity: [RETRYING] })')).toMatchObject({ nodes: [{ provider: 'q' }] })
    expect(await clusters('(filter: { text: "COR" })')).toMatchObject({ nodes: [{ name: 'core' }] })
    expect(await clusters('(filter: { names: [] })')).toMatchObject({ totalCount: 0, nodes: [] })
    expect(await clusters('', 'viewer/project:alpha')).toMatchObject({
      totalCount: 1,
      nodes: [{ provider: 'p', name: 'edge' }],
    })
  })

  it('are listed in any order, and so are devices', async () => {
    const ordered = async (list: string, orderBy: string, filter = '') => {
      const read = async (page: string) =>
        (
          await api.ask(
            `{ list: ${list}(orderBy: ${orderBy}${filter}${page}) { nodes { name } pageInfo { endCursor } } }`,
          )
        ).list
      const [first, whole] = [await read(', first: 1'), await read('')]
      const rest = await read(`, after: "${first.pageInfo.endCursor}"`)
      expect([...first.nodes, ...rest.nodes]).toEqual(whole.nodes)
      return whole.nodes.map(({ name }: { name: string }) => name)
    }
    expect(await ordered('clusters', '{ field: CONNECTIVITY, direction: DESC }')).toEqual(['edge', 'edge', 'core'])
    expect(await ordered('clusters', '{ field: NAME, direction: DESC }')).toEqual(['edge', 'edge', 'core'])
    expect(await ordered('devices', '{ field: NAME }')).toEqual(['m-1', 'm-2', 'o-1'])
    expect(await ordered('devices', '{ field: LAST_HEARD, direction: DESC }')).toEqual(['o-1', 'm-1', 'm-2'])
    expect(await ordered('devices', '{ field: LAST_HEARD }', ', filter: { failing: false }')).toEqual([
      'm-2',
      'm-1',
      'o-1',
    ])
    const { pageInfo } = await clusters('(first: 1)')
    const { errors } = await api.query(
      `{ clusters(orderBy: { field: NAME, direction: DESC }, after: "${pageInfo.endCursor}") { totalCount nodes { name } } }`,
    )
    expect(errors?.[0]?.extensions?.code).toBe('BAD_USER_INPUT')
  })

  it('count devices by connectivity, as the list has them', async () => {
    const document =
      '{ deviceCounts { total online offline retrying unknown } devices(first: 100) { nodes { connectivity } } }'
    for (const who of [undefined, munich, 'viewer/project:alpha', 'viewer/none']) {
      const { deviceCounts, devices } = await api.ask(document, {}, who)
      const of = (wanted: string) =>
        devices.nodes.filter(({ connectivity }: { connectivity: string }) => connectivity === wanted).length
      expect(deviceCounts).toEqual({
        ...{ total: devices.nodes.length, online: of('ONLINE'), offline: of('OFFLINE') },
        ...{ retrying: of('RETRYING'), unknown: of('UNKNOWN') },
      })
    }
    const { deviceCounts } = await api.ask(
      '{ deviceCounts(filter: { labels: [{ key: "site", value: "munich" }] }) { total } }',
    )
    expect(deviceCounts).toEqual({ total: 2 })
  })

  it('are those of then in the past, and devices too, also below rollouts', async () => {
    const then = (await api.ask('{ revision }')).revision
    const shown = `revision: asOf deviceCounts { total online offline }`
    const document = `query ($r: Revision) {
      clusters(atRevision: $r) { totalCount nodes { name connectivity deployments { totalCount } } }
      devices(atRevision: $r, filter: { connectivity: [OFFLINE] }) { totalCount nodes { deviceId connectivity lastHeardAt } }
      device(deviceId: "m-1", atRevision: $r) { connectivity }
      cluster(provider: "q", name: "edge", atRevision: $r) { connectivity }
      deviceCounts(atRevision: $r) { total offline }
      rollout(key: { name: "r", project: "alpha" }, atRevision: $r) { ${shown} }
      deployments(atRevision: $r, filter: { deviceIds: ["m-1"] }) { nodes { target { connectivity } } } }`
    const before = await api.ask(document)
    await api.road.writer.submit(reportConnectivity({ kind: 'DEVICE', provider: '', name: 'm-1' }, 'OFFLINE'))
    await api.road.writer.submit(reportConnectivity({ kind: 'CLUSTER', provider: 'q', name: 'edge' }, 'ONLINE'))
    await api.report({ reporter: 'n-1', deploymentId: 'later' })
    for (const who of [undefined, munich, 'viewer/project:alpha']) {
      const { deviceCounts, devices } = await api.ask(document, { r: then }, who)
      expect([who, devices.totalCount, deviceCounts.offline]).toEqual([who, 0, 0])
      const now = await api.ask(document, {}, who)
      expect([who, now.devices.totalCount, now.deviceCounts.offline]).toEqual([who, 1, 1])
    }
    const { rollout, ...rest } = await api.ask(document, { r: then })
    const { rollout: presentRollout, ...restBefore } = before
    expect(rest).toEqual(restBefore)
    expect(rollout).toEqual({ ...presentRollout, revision: then })
    expect((await api.ask(document)).rollout.deviceCounts).toEqual({ total: 1, online: 0, offline: 1 })
    api.statements()
    await api.ask('{ rollouts { nodes { deviceCounts { total } } } }')
    expect(api.statements()).toBe(2)
    await api.road.writer.submit(reportConnectivity({ kind: 'DEVICE', provider: '', name: 'm-1' }, 'ONLINE'))
  })

  it('cost one statement for a list with its deployments, and one for counts', async () => {
    api.statements()
    await api.ask(
      '{ deviceCounts { total online } clusters { nodes { name deployments { nodes { id } } deploymentCounts { total } } } }',
    )
    expect(api.statements()).toBe(4)
  })
})
