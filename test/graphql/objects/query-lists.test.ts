/** Filters and orders of deployments, and the log. */
import { describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { useFleet } from '../fleet.ts'

describe.each(stores)('queries on $name', (store) => {
  const api = useFleet(store)

  it.each([
    ['deploymentIds: ["d-1", "d-2"]', ['d-1', 'd-2']],
    ['deviceIds: ["gw/child"]', ['shared']],
    ['reporters: ["gw"]', ['shared']],
    ['applications: ["nginx"], states: [PENDING]', ['d-2']],
    ['applicationVersions: ["1.2"]', ['d-1', 'd-2']],
    ['derivedStates: [INSTALLING]', ['d-1']],
    ['readiness: [READY]', []],
    ['components: ["db"]', ['d-1']],
    ['errorCodes: ["E42"]', ['d-1']],
    ['labels: [{ key: "site", value: "munich" }]', ['d-1']],
    ['connectivity: [ONLINE]', ['d-1']],
    ['consistent: false', ['d-1']],
    ['stalled: true', []],
    ['hasError: true', ['d-1']],
    ['text: "DISK FULL: 100%"', ['d-1']],
    ['text: "%"', ['d-1']],
    ['instanceIds: ["none"]', []],
    ['ids: []', []],
    ['ids: ["garbage"]', []],
    ['states: null', ['d-1', 'd-2', 'shared', 'shared']],
    ['changedAfter: "2999-01-01T00:00:00Z"', []],
    ['changedBefore: "2999-01-01T00:00:00Z"', ['d-1', 'd-2', 'shared', 'shared']],
    ['label: { key: "site", notIn: ["munich"] }', ['d-2', 'shared', 'shared']],
    ['lastHeardBefore: "2999-01-01T00:00:00Z"', ['d-1', 'd-2', 'shared', 'shared']],
    ['where: {}', ['d-1', 'd-2', 'shared', 'shared']],
    ['where: { or: [{ hasError: true }, { states: [PENDING] }] }', ['d-1', 'd-2']],
    ['where: { not: { deploymentIds: ["shared"] }, label: { key: "site", prefix: "mun" } }', ['d-1']],
    ['where: { and: [{ reporters: ["gw"] }, { not: { hasError: true } }] }', ['shared']],
    ['where: { or: [] }', []],
    ['where: { and: [] }, deploymentIds: ["d-1"]', ['d-1']],
    ['where: { not: null, ids: null }, deploymentIds: ["d-1"]', ['d-1']],
  ])('filters by %s, in the list, its total and the counts alike', async (filter, ids) => {
    const { deployments, deploymentCounts } = await api().ask(`{
      deployments(filter: { ${filter} }, orderBy: NAME) { totalCount nodes { deploymentId } }
      deploymentCounts(filter: { ${filter} }) { total }
    }`)
    expect(deployments.nodes.map((node: { deploymentId: string }) => node.deploymentId)).toEqual(ids)
    expect(deployments.totalCount).toBe(ids.length)
    expect(deploymentCounts.total).toBe(ids.length)
  })

  it.each([
    ['where: { not: { deviceIds: ["gw"] } }, text: "gw"', ['gw/child']],
    ['label: { key: "site", equals: "munich" }, failing: false', []],
    ['label: { key: "site", in: ["munich"] }, failing: true', ['edge-1']],
    ['parents: ["gw"]', ['gw/child']],
    ['where: { or: [{ parents: ["gw"] }, { deviceIds: ["gw"] }] }', ['gw', 'gw/child']],
    ['vendors: ["none"]', []],
    ['models: ["none"]', []],
    ['rolloutIds: []', []],
    ['lastHeardAfter: "2999-01-01T00:00:00Z"', []],
  ])('lists devices by %s, and counts as many', async (filter, ids) => {
    const { devices, deviceCounts } = await api().ask(`{
      devices(filter: { ${filter} }) { totalCount nodes { deviceId } }
      deviceCounts(filter: { ${filter} }) { total }
    }`)
    expect(devices.nodes.map(({ deviceId }: { deviceId: string }) => deviceId)).toEqual(ids)
    expect([devices.totalCount, deviceCounts.total]).toEqual([ids.length, ids.length])
  })

  it('divides the devices by each condition and its opposite', async () => {
    const conditions = [
      'failing: true',
      'label: { key: "site", exists: true }',
      'connectivity: [ONLINE]',
      'parents: ["gw"]',
      'registered: true',
      'vendors: ["x"]',
      'lastHeardBefore: "2999-01-01T00:00:00Z"',
    ]
    for (const condition of conditions) {
      const { all, some, others } = await api().ask(`{
        all: devices { totalCount }
        some: devices(filter: { where: { ${condition} } }) { totalCount }
        others: devices(filter: { where: { not: { ${condition} } } }) { totalCount }
      }`)
      expect([condition, some.totalCount + others.totalCount]).toEqual([condition, all.totalCount])
    }
  })

  it('refuses a selector that is too deep or too large', async () => {
    const nested = Array.from({ length: 7 }).reduce<object>((inner) => ({ not: inner }), {})
    const wide = { or: Array.from({ length: 101 }, () => ({})) }
    for (const where of [nested, wide]) {
      const { errors } = await api().query(
        'query ($where: DeploymentWhere) { deployments(filter: { where: $where }) { totalCount } }',
        { where },
      )
      expect(errors?.[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT' } })
    }
  })

  it('filters by node IDs, including those of past revisions', async () => {
    const { revision, deployment } = await api().ask(
      '{ revision deployment(deploymentId: "d-2") { id rollout { id } } }',
    )
    const past = await api().ask('query ($r: Revision) { deployment(deploymentId: "d-2", atRevision: $r) { id } }', {
      r: revision,
    })
    const { byId, byPastId, byRollout } = await api().ask(
      `query ($id: ID!, $past: ID!, $rollout: ID!) {
        byId: deployments(filter: { ids: [$id] }) { nodes { deploymentId } }
        byPastId: deployments(filter: { ids: [$past] }) { nodes { deploymentId } }
        byRollout: deployments(filter: { rolloutIds: [$rollout] }, orderBy: NAME) { nodes { deploymentId } }
      }`,
      { id: deployment.id, past: past.deployment.id, rollout: deployment.rollout.id },
    )
    expect(past.deployment.id).not.toBe(deployment.id)
    expect(byId.nodes).toEqual([{ deploymentId: 'd-2' }])
    expect(byPastId.nodes).toEqual([{ deploymentId: 'd-2' }])
    expect(byRollout.nodes).toEqual([{ deploymentId: 'd-1' }, { deploymentId: 'd-2' }])
  })

  it.each([
    ['orderBy: CHANGED_ASC', ['d-2', 'd-1', 'shared', 'shared']],
    ['orderBy: CHANGED_DESC', ['shared', 'shared', 'd-1', 'd-2']],
    ['orderBy: STATE', ['d-2', 'shared', 'd-1', 'shared']],
    ['orderBy: NAME', ['d-1', 'd-2', 'shared', 'shared']],
    ['ordering: { field: CHANGED }', ['d-2', 'd-1', 'shared', 'shared']],
    ['ordering: { field: CHANGED, direction: DESC }', ['shared', 'shared', 'd-1', 'd-2']],
    ['ordering: { field: STATE, direction: ASC }', ['d-2', 'shared', 'd-1', 'shared']],
    ['ordering: { field: STATE, direction: DESC }', ['shared', 'd-1', 'shared', 'd-2']],
    ['orderBy: CHANGED_ASC, ordering: { field: NAME, direction: DESC }', ['shared', 'shared', 'd-2', 'd-1']],
  ])('orders by %s, also in a nested list and in the past', async (order, ids) => {
    const idsOf = ({ nodes }: { nodes: { deploymentId: string }[] }) => nodes.map(({ deploymentId }) => deploymentId)
    const { deployments, rollouts, revision } = await api().ask(`{
      deployments(${order}) { nodes { deploymentId } }
      rollouts(filter: { names: ["shared"] }) { nodes { deployments(${order}) { nodes { deploymentId state } } } }
      revision
    }`)
    expect(idsOf(deployments)).toEqual(ids)
    const [rollout] = rollouts.nodes
    expect(idsOf(rollout.deployments)).toEqual(['shared', 'shared'])
    const past = await api().ask(`{ deployments(${order}, atRevision: "${revision}") { nodes { deploymentId } } }`)
    expect(idsOf(past.deployments)).toEqual(ids)
  })

  it('returns the log and each history with typed changes', async () => {
    const { changes, deployment } = await api().ask(`{
      changes { totalCount nodes {
        __typename revision at observedAt kind
        ... on DeploymentStateChanged { deploymentId from to attempt adoptedManifestVersion error { code } deployment { deploymentId } }
        ... on ComponentStateChanged { component cfrom: from cto: to deployment { deploymentId } }
        ... on DeploymentRevised { application applicationVersion deployment { deploymentId } }
        ... on ConnectivityChanged { fromConnectivity toConnectivity target { name } }
      } }
      deployment(deploymentId: "d-1") {
        history { totalCount nodes { kind } edges { cursor node { revision } } }
        components { name history { totalCount nodes { kind } } }
      }
    }`)
    const kinds = changes.nodes.map(({ kind }: { kind: string }) => kind)
    expect(new Set(kinds)).toEqual(
      new Set(['DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED', 'DEPLOYMENT_REVISED', 'CONNECTIVITY_CHANGED']),
    )
    const revisions = changes.nodes.map(({ revision }: { revision: string }) => Number(revision))
    expect(revisions).toEqual(revisions.map((_: number, index: number) => revisions[0] + index))
    expect(changes.totalCount).toBe(revisions.length)
    expect(changes.nodes).toContainEqual(
      expect.objectContaining({
        __typename: 'DeploymentStateChanged',
        from: 'PENDING',
        to: 'FAILED',
        error: { code: 'E42' },
        observedAt: '2026-01-02T03:04:05.678Z',
      }),
    )
    expect(
      deployment.history.edges.every(
        ({ cursor, node }: { cursor: string; node: { revision: string } }) => cursor === node.revision,
      ),
    ).toBe(true)
    expect(deployment.history.totalCount).toBe(deployment.history.nodes.length)
    expect(deployment.components).toMatchObject([
      { name: 'web', history: { totalCount: 2 } },
      { name: 'db', history: { totalCount: 1 } },
    ])
  })

  it('filters the log', async () => {
    const count = (filter: string): Promise<number> =>
      api()
        .ask(`{ changes(filter: { ${filter} }) { totalCount } }`)
        .then(({ changes }) => changes.totalCount)
    expect(await count('deploymentIds: ["d-2"], kinds: [DEPLOYMENT_STATE_CHANGED]')).toBe(1)
    expect(await count('components: ["db"]')).toBe(1)
    expect(await count('to: [FAILED]')).toBe(1)
    expect(await count('labels: [{ key: "site", value: "munich" }], kinds: [CONNECTIVITY_CHANGED]')).toBe(1)
    expect(await count('kinds: [RESOURCE_STATUS_CHANGED]')).toBe(0)
    expect(await count('kinds: []')).toBe(0)
  })

  it('recounts and finds no drift', async () => {
    const { audit, revision } = await api().ask(
      '{ revision audit { revision drift { scope field counted recounted } } }',
    )
    expect(audit).toEqual({ revision, drift: [] })
  })

  it('leaves no snapshot open', () => {
    expect(api().openSnapshots()).toBe(0)
  })
})
