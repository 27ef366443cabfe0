/** What EMCO reports beyond the examples of its design: both generations of keys, refusals, secrets (docs/wire.md §2). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, bundle, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'

describe.each(stores)('EMCO on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())
  it('accepts a repeated action, and refuses one that may not follow', async () => {
    const emco = newGroup(server)
    const [a, b] = [newContext(), newContext()]
    const act = (State: string, ContextId?: string) => emco.call('POST', `${emco.base}/actions`, { State, ContextId })
    expect((await act('Approved')).status).toBe(404)
    expect(await act('Created')).toMatchObject({ status: 201, body: { state: { Actions: [{ State: 'Created' }] } } })
    const refused = await act('Instantiated', a)
    expect(refused.status).toBe(409)
    expect(JSON.stringify(refused.body)).toMatch(/Created.*Approved/)
    expect((await act('Approved')).status).toBe(201)
    expect((await act('Approved')).status).toBe(200)
    expect((await act('Instantiated')).status).toBe(422)
    expect((await act('Instantiated', a)).status).toBe(201)
    expect((await act('Instantiated', b)).status).toBe(201)
    expect((await act('Updated', a)).status).toBe(409)
    expect((await act('Exploded')).status).toBe(422)
    const { state } = await emco.status('?output=summary')
    expect(state.Actions.map(({ State }: Answer) => State)).toEqual([
      'Created',
      'Approved',
      'Instantiated',
      'Instantiated',
    ])
    const whole = await emco.call('POST', `${emco.base}/actions`, { Actions: state.Actions })
    expect(whole.status).toBe(200)
  })

  it('understands resources in every generation of keys, each for itself', async () => {
    const emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
    const place = { app: 'sink', cluster: 'p+edge01', GVK }
    const path = `${emco.base}/instances/${context}/resources`
    const flat = await emco.call('POST', path, {
      resources: [
        { ...place, name: 'a', 'rsync-status': 'Applied', detail: 'as applied' },
        { ...place, name: 'b', rsyncStatus: 'Applied' },
        { ...place, name: 'c', deployedStatus: 'Applied' },
        { ...place, name: 'd' },
        { ...place, name: 'e', 'rsync-status': 'Splendid' },
        { ...place, name: 'f', cluster: 'edge01' },
        { ...place, name: 'g', 'rsync-status': 'Instantiated' },
        7,
      ],
    })
    expect(flat.body.results.map(({ verdict }: Answer) => verdict)).toEqual([
      'APPLIED',
      'APPLIED',
      'APPLIED',
      'APPLIED',
      'REFUSED',
      'REFUSED',
      'APPLIED',
      'REFUSED',
    ])
    expect(flat.body.results[4].errors).toMatchObject([
      { field: 'resources[4].rsync-status', message: expect.stringContaining('Applied') },
    ])
    expect(flat.body.results[5].errors).toMatchObject([{ field: 'resources[5].cluster' }])
    const nested = await emco.call('POST', path, {
      apps: [
        {
          name: 'source',
          clusters: [
            { clusterProvider: 'p', cluster: 'edge02', resources: [{ GVK, name: 'n', deployedStatus: 'Pending' }] },
          ],
        },
      ],
    })
    expect(nested.body.results).toEqual([{ verdict: 'APPLIED' }])
    expect((await emco.status('?output=summary'))['rsync-status']).toEqual({ Applied: 4, Pending: 2 })
    expect((await emco.call('POST', path, { resources: 'all' })).status).toBe(422)
    expect((await emco.call('POST', `${emco.base}/instances/404404/resources`, { resources: [] })).status).toBe(404)
  })

  it('applies state snapshots in the order of their versions, and refuses those of unknown contexts', async () => {
    const emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(context, [{ name: 'a' }])
    const older = bundle(`${context}-sink`, { deploymentStatuses: [] })
    expect(await emco.show(context, { deploymentStatuses: [shownDeployment('a')] })).toMatchObject({
      verdict: 'APPLIED',
    })
    const path = `${emco.base}/resource-bundle-states/p%2Bedge01`
    expect((await emco.call('PUT', path, older)).body.verdict).toBe('STALE')
    expect((await emco.call('PUT', path, bundle('nothing', {}))).status).toBe(422)
    expect((await emco.call('PUT', path, bundle('404404-sink', {}))).status).toBe(404)
    const half = await emco.show(context, { deploymentStatuses: [shownDeployment('a'), 7], podStatuses: 'none' })
    expect(half).toMatchObject({
      verdict: 'UNCHANGED',
      errors: [{ field: 'status.podStatuses' }, { field: 'status.deploymentStatuses[1]' }],
    })
  })

  it('records the connectivity of a cluster', async () => {
    const emco = newGroup(server)
    const path = '/v2/cluster-providers/p/clusters/heard/connectivity'
    const say = (connectivity: string) => emco.call('PUT', path, { connectivity })
    expect((await say('Available')).body.verdict).toBe('APPLIED')
    expect((await say('Available')).body.verdict).toBe('UNCHANGED')
    expect((await say('Retrying')).body.verdict).toBe('APPLIED')
    expect((await say('Sometimes')).status).toBe(422)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(context, [{ name: 'a', cluster: 'p+heard' }])
    expect((await emco.status('?status=deployed')).apps[0].clusters[0].connectivity).toBe('Retrying')
  })

  it('keeps the last instance when the group was terminated and approved again, and all of them when asked', async () => {
    const emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(context, [{ name: 'a' }])
    await emco.act('Terminated')
    await emco.apply(context, [{ name: 'a', status: 'Deleted' }])
    await emco.act('Approved')
    expect(await emco.status()).toMatchObject({
      status: 'Terminated',
      'rsync-status': { Deleted: 1 },
      apps: [{ name: 'sink' }],
    })
    const next = newContext()
    await emco.act(`Instantiated ${next}`)
    expect((await emco.status('?output=summary')).status).toBe('Instantiating')
    expect((await emco.status(`?instance=${context}`)).status).toBe('Terminated')
    expect((await emco.status('?instance')).instances).toEqual([context, next])
  })

  it('does not store the data of a Secret, on any route', async () => {
    const emco = newGroup(server)
    const context = newContext()
    const secret = `hidden-${context}`
    const object = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 's',
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"stringData":"${secret}"}` },
      },
      data: { password: Buffer.from(secret).toString('base64'), plain: secret },
      stringData: { password: secret },
    }
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    await emco.apply(context, [{ name: 's', kind: 'Secret', detail: object }])
    const { kind, apiVersion, ...bare } = object
    await emco.show(context, { secretStatuses: [bare] })
    await emco.show(context, {
      resourceStatuses: [
        {
          group: '',
          version: 'v1',
          kind: 'Secret',
          name: 's',
          namespace: 'default',
          res: Buffer.from(JSON.stringify(object)).toString('base64'),
        },
      ],
    })
    await server.query(
      `mutation ($input: ReportResourcesInput!) { reportResources(input: $input) { ... on ReportResourcesSuccess { results { verdict } } } }`,
      {
        input: {
          rollout: emco.key,
          instanceId: context,
          resources: [{ component: 'sink', cluster: 'p+edge01', kind: 'Secret', name: 's', detail: object }],
        },
      },
    )
    const put = (path: string, body: object) => emco.call('PUT', `/v1/instance/${path}`, body)
    await put(`i-${context}`, {
      request: { 'rb-name': 'rb', 'rb-version': '1', 'profile-name': 'p', 'cloud-region': 'r' },
      resources: [],
    })
    await put(`i-${context}/status`, {
      resourcesStatus: [{ name: 's', GVK: { Group: '', Version: 'v1', Kind: 'Secret' }, status: object }],
    })
    const session = server.app.database.session
    const tables = await session.run<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    )
    expect(tables.length).toBeGreaterThan(10)
    for (const { name } of tables) {
      const found = await session.run<{ count: number }>(
        `select count(*)::int as count from "${name}" t where t::text like $1::text or t::text like $2::text`,
        [`%${secret}%`, `%${Buffer.from(secret).toString('base64')}%`],
      )
      expect([name, found[0]?.count]).toEqual([name, 0])
    }
    const detail = await emco.status('?type=cluster&output=detail&resource=s')
    expect(detail.apps[0].clusters[0].resources[0].detail.metadata.name).toBe('s')
  })

  it('refuses a cluster whose provider or name cannot be stored or told apart', async () => {
    const emco = newGroup(server)
    const context = newContext()
    await emco.act('Created', 'Approved', `Instantiated ${context}`)
    const place = { app: 'a', name: 'n', GVK: { Group: '', Version: 'v1', Kind: 'Pod' } }
    const { body } = await emco.call('POST', `${emco.base}/instances/${context}/resources`, {
      resources: [
        { ...place, 'cluster-provider': 'p\0', cluster: 'c' },
        { ...place, 'cluster-provider': 'p'.repeat(257), cluster: 'c' },
        { ...place, 'cluster-provider': 'p+q', cluster: 'c' },
        { ...place, 'cluster-provider': '', cluster: 'c' },
        { ...place, cluster: 'p\0+c' },
        { ...place, cluster: 'p+c\ud800' },
        { ...place, 'cluster-provider': 'p', cluster: 'c' },
      ],
    })
    const outcome = ({ verdict, errors = [] }: Answer): string[] => [
      verdict,
      ...errors.map(({ field }: Answer) => field),
    ]
    expect(body.results.map(outcome)).toEqual([
      ...Array.from({ length: 6 }, (_, index) => ['REFUSED', `resources[${index}].cluster`]),
      ['APPLIED'],
    ])
    expect(await emco.status('?clusters')).toMatchObject({
      'clusters-by-app': [{ app: 'a', clusters: [{ 'cluster-provider': 'p', cluster: 'c' }] }],
    })
    const path = '/v2/cluster-providers/p%2Bq/clusters/c/connectivity'
    expect(await emco.call('PUT', path, { connectivity: 'Available' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'cluster-provider' }] },
    })
    const mutation =
      'mutation ($rollout: RolloutKey!) { recordAction(input: { rollout: $rollout, state: APPLIED }) { __typename } }'
    expect(JSON.stringify(await server.query(mutation, { rollout: { provider: 'p+q', name: 'c' } }))).toMatch(/Invalid/)
  })

  it('takes times that a calendar has, and none for the unset time of Go', async () => {
    const emco = newGroup(server)
    const act = (State: string, TimeStamp: string) => emco.call('POST', `${emco.base}/actions`, { State, TimeStamp })
    for (const time of ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+01:00', '2020-02-30T00:00:00Z'])
      expect(await act('Created', time)).toMatchObject({ status: 422, body: { errors: [{ field: 'TimeStamp' }] } })
    expect((await act('Created', '0001-01-01T00:00:00Z')).status).toBe(201)
    expect((await act('Approved', '2016-12-31T23:59:60Z')).status).toBe(201)
    const { state } = await emco.status('?output=summary')
    expect(state.Actions.map(({ TimeStamp }: Answer) => TimeStamp)).toEqual([
      expect.stringMatching(/^20\d\d-/),
      '2016-12-31T23:59:60Z',
    ])
    const mutation = `mutation ($rollout: RolloutKey!, $at: DateTime!) {
      recordAction(input: { rollout: $rollout, state: CREATED, at: $at }) { ... on InvalidInput { problems { path } } } }`
    for (const at of ['0000-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59-14:00'])
      expect(await server.query(mutation, { rollout: emco.key, at })).toEqual({
        recordAction: { problems: [{ path: ['at'] }] },
      })
  })
})
