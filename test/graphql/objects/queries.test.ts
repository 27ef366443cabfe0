/** Single objects, counts and lists, and the errors of what cannot be found. */
import { describe, expect, it } from 'vitest'
import { everyStore } from '../../support/databases/stores.ts'
import { useFleet } from '../fleet.ts'

describe.each(everyStore)('queries on $name', (store) => {
  const api = useFleet(store)

  it('returns a deployment with all reported and declared data', async () => {
    const { deployment, revision } = await api().ask(`{
      revision
      deployment(deploymentId: "d-1") {
        deploymentId reporter application applicationVersion state derivedState consistent readiness attempt adoptedManifestVersion
        stalled reportedAt forgottenAt asOf error { code message source }
        target { __typename kind name labels { key value } connectivity lastHeardAt }
        device { deviceId name registered expectedInterval revokedAt parent { deviceId } }
        rollout { kind name project compositeApp compositeAppVersion compositeProfile provider state status readiness }
        components { name state error { code } readiness deployment { deploymentId } }
        reports { totalCount nodes { verdict staleBy reportedAt sequence state dialect revision } }
      }
    }`)
    expect(deployment).toMatchObject({
      deploymentId: 'd-1',
      reporter: 'edge-1',
      application: 'nginx',
      applicationVersion: '1.2',
      state: 'FAILED',
      derivedState: 'INSTALLING',
      consistent: false,
      readiness: 'UNKNOWN',
      attempt: 1,
      adoptedManifestVersion: '18446744073709551615',
      stalled: false,
      reportedAt: '2026-01-02T03:04:05.678Z',
      forgottenAt: null,
      asOf: null,
      error: { code: 'E42', message: 'Disk full: 100%', source: 'runtime' },
      target: {
        __typename: 'Device',
        kind: 'DEVICE',
        name: 'Press 4',
        labels: [{ key: 'site', value: 'munich' }],
        connectivity: 'ONLINE',
      },
      device: {
        deviceId: 'edge-1',
        name: 'Press 4',
        registered: true,
        expectedInterval: 30,
        revokedAt: null,
        parent: null,
      },
      rollout: {
        kind: 'DECLARED',
        name: 'spring',
        project: 'fleet',
        compositeApp: null,
        provider: null,
        state: null,
        status: null,
        readiness: 'UNKNOWN',
      },
      components: [
        { name: 'web', state: 'INSTALLED', error: null, readiness: 'UNKNOWN', deployment: { deploymentId: 'd-1' } },
        { name: 'db', state: 'PENDING', error: null, readiness: 'UNKNOWN', deployment: { deploymentId: 'd-1' } },
      ],
      reports: {
        totalCount: 1,
        nodes: [
          {
            verdict: 'APPLIED',
            staleBy: null,
            reportedAt: '2026-01-02T03:04:05.678Z',
            sequence: '18446744073709551614',
            state: 'FAILED',
            dialect: 'test',
          },
        ],
      },
    })
    expect(deployment.target.lastHeardAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(revision).toMatch(/^\d{16}$/)
  })

  it('returns null instead of failing', async () => {
    expect(
      await api().ask(`{
        deployment(deploymentId: "unknown") { id }
        device(deviceId: "unknown") { id }
        cluster(provider: "unknown", name: "nothing") { id }
        region: cluster(name: "nothing") { id }
        rollout(key: { name: "nothing" }) { id }
      }`),
    ).toEqual({ deployment: null, device: null, cluster: null, region: null, rollout: null })
  })

  it('lists the matches of an ambiguous ID, and selects by device or reporter', async () => {
    const { data, errors } = await api().query('{ deployment(deploymentId: "shared") { id } }')
    expect(data).toEqual({ deployment: null })
    expect(errors).toMatchObject([
      {
        message: expect.stringContaining('2 deployments have the ID shared'),
        extensions: {
          code: 'AMBIGUOUS',
          matches: expect.arrayContaining([
            { deploymentId: 'shared', deviceId: 'gw/child', reporter: 'gw' },
            { deploymentId: 'shared', deviceId: 'edge-3', reporter: 'edge-3' },
          ]),
        },
      },
    ])
    const chosen = await api().ask(`{
      byDevice: deployment(deploymentId: "shared", deviceId: "gw/child") { reporter }
      byReporter: deployment(deploymentId: "shared", deviceId: "gw") { reporter }
      other: deployment(deploymentId: "shared", deviceId: "edge-3") { reporter }
    }`)
    expect(chosen).toEqual({
      byDevice: { reporter: 'gw' },
      byReporter: { reporter: 'gw' },
      other: { reporter: 'edge-3' },
    })
  })

  it('counts the fleet, a device and a rollout, zero-filled, at the revision of the response', async () => {
    const { revision, deploymentCounts, device, rollout } = await api().ask(`{
      revision
      deploymentCounts { total pending installing installed failed removing removed revision }
      device(deviceId: "edge-1") { deploymentCounts { total failed pending } deployments { totalCount nodes { deploymentId } } }
      rollout(key: { name: "spring", project: "fleet" }) {
        deploymentCounts { total failed pending }
        failed: deploymentCounts(filter: { states: [FAILED] }) { total failed pending }
        deployments(filter: { states: [PENDING] }) { totalCount nodes { deploymentId } }
      }
    }`)
    expect(deploymentCounts).toEqual({
      total: 4,
      pending: 1,
      installing: 0,
      installed: 1,
      failed: 1,
      removing: 0,
      removed: 1,
      revision,
    })
    expect(device).toEqual({
      deploymentCounts: { total: 1, failed: 1, pending: 0 },
      deployments: { totalCount: 1, nodes: [{ deploymentId: 'd-1' }] },
    })
    expect(rollout).toEqual({
      deploymentCounts: { total: 2, failed: 1, pending: 1 },
      failed: { total: 1, failed: 1, pending: 0 },
      deployments: { totalCount: 1, nodes: [{ deploymentId: 'd-2' }] },
    })
  })

  it('lists devices by filter, and a gateway with the devices behind it', async () => {
    const { all, registered, labelled, gateway } = await api().ask(`{
      all: devices { totalCount nodes { deviceId } }
      registered: devices(filter: { registered: true, text: "PRESS" }) { totalCount nodes { deviceId } }
      labelled: devices(filter: { labels: [{ key: "site", value: "munich" }], connectivity: [ONLINE], deviceIds: ["edge-1"] }) { nodes { deviceId } }
      gateway: device(deviceId: "gw") { children { totalCount nodes { deviceId parent { deviceId } deployments { nodes { deploymentId } } } } }
    }`)
    expect(all.nodes.map((node: { deviceId: string }) => node.deviceId)).toEqual([
      'edge-1',
      'edge-2',
      'edge-3',
      'gw',
      'gw/child',
    ])
    expect(all.totalCount).toBe(5)
    expect(registered).toEqual({ totalCount: 1, nodes: [{ deviceId: 'edge-1' }] })
    expect(labelled.nodes).toEqual([{ deviceId: 'edge-1' }])
    expect(gateway.children).toEqual({
      totalCount: 1,
      nodes: [
        { deviceId: 'gw/child', parent: { deviceId: 'gw' }, deployments: { nodes: [{ deploymentId: 'shared' }] } },
      ],
    })
  })

  it('lists rollouts by filter, and finds one by ID or full name', async () => {
    const { all, declared, named, byKey } = await api().ask(`{
      all: rollouts { totalCount nodes { name } }
      declared: rollouts(filter: { kinds: [DECLARED], projects: ["fleet"], names: ["spring"] }) { totalCount nodes { id name } }
      named: rollouts(filter: { text: "SPRI" }) { nodes { name } }
      byKey: rollout(key: { name: "spring", project: "fleet" }) { id }
      withoutProject: rollout(key: { name: "spring" }) { id }
    }`)
    expect(all).toMatchObject({ totalCount: 2 })
    expect(all.nodes.map(({ name }: { name: string }) => name).toSorted()).toEqual(['shared', 'spring'])
    expect(declared).toMatchObject({ totalCount: 1, nodes: [{ name: 'spring' }] })
    expect(named.nodes).toEqual([{ name: 'spring' }])
    expect(byKey.id).toBe(declared.nodes[0].id)
    expect(await api().ask('query ($id: ID) { rollout(id: $id) { name } }', { id: byKey.id })).toEqual({
      rollout: { name: 'spring' },
    })
    const oneOf = 'query ($by: RolloutBy!) { rollout(by: $by) { id } }'
    const key = { name: 'spring', project: 'fleet' }
    for (const by of [{ key }, { id: byKey.id }]) expect(await api().ask(oneOf, { by })).toEqual({ rollout: byKey })
    for (const by of [{ key, id: byKey.id }, {}])
      expect((await api().query(oneOf, { by })).errors?.[0]?.message).toMatch(/[Ee]xactly one/)
  })

  it.each([
    ['{ rollout { id } }', /give id or key/],
    ['{ rollout(id: "x", key: { name: "y" }) { id } }', /not both/],
    ['{ rollout(id: "x", by: { key: { name: "y" } }) { id } }', /only one of by, id and key/],
    ['{ deployments(asOf: "2026-01-01T00:00:00Z", atRevision: "1") { totalCount } }', /./],
    ['{ deployments(after: "garbage") { nodes { id } } }', /after/],
    ['{ changes(first: 101) { nodes { kind } } }', /first must be from 0 to 100/],
    [`{ nodes(ids: [${'"x",'.repeat(101)}]) { id } }`, /at most 100/],
  ])('refuses %s with BAD_USER_INPUT', async (document, message) => {
    const { errors } = await api().query(document)
    expect(errors).toMatchObject([{ message: expect.stringMatching(message), extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('refuses long lists, and finds nothing for text that cannot be stored', async () => {
    const document = 'query ($ids: [String!]) { deployments(filter: { deploymentIds: $ids }) { totalCount } }'
    const { errors } = await api().query(document, { ids: Array.from({ length: 10_001 }, String) })
    expect(errors).toMatchObject([
      { extensions: { code: 'BAD_USER_INPUT' }, message: expect.stringContaining('deploymentIds') },
    ])
    expect(await api().ask(document, { ids: ['\0', '\ud800'] })).toEqual({ deployments: { totalCount: 0 } })
    expect(
      await api().ask('query ($id: String!) { device(deviceId: $id) { id } deployment(deploymentId: $id) { id } }', {
        id: 'a\0b',
      }),
    ).toEqual({ device: null, deployment: null })
  })

  it('lists at most a hundred matches of an ambiguous ID', async () => {
    for (let n = 0; n <= 100; n += 1)
      await api().report({ reporter: `many-${n}`, deploymentId: 'everywhere', state: 'INSTALLED' })
    for (const past of ['', `, atRevision: "${(await api().ask('{ revision }')).revision}"`]) {
      const { errors } = await api().query(`{ deployment(deploymentId: "everywhere"${past}) { id } }`)
      expect(errors?.[0]?.message).toMatch(
        /^more than 100 deployments have the ID everywhere: .* and more\. Set deviceId/,
      )
      expect(errors?.[0]?.extensions?.matches).toHaveLength(100)
    }
  })

  it('leaves no snapshot open', () => {
    expect(api().openSnapshots()).toBe(0)
  })
})
