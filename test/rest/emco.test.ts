/** EMCO's routes beyond the design's examples: every parameter, both generations of keys, refusals, secrets (docs/wire.md §2). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { type Answer, bundle, type Emco, newContext, newGroup, shownDeployment } from '../support/emco.ts'
import { stores } from '../support/stores.ts'

describe.each(stores)('EMCO on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
  })
  afterAll(() => server.stop())

  describe('asked for a status', () => {
    let emco: Emco
    let context: string
    beforeAll(async () => {
      emco = newGroup(server)
      context = newContext()
      await emco.call('POST', `${emco.base}/actions`, { State: 'Created', 'composite-profile-name': 'profile' })
      await emco.act('Approved', `Instantiated ${context}`)
      await emco.apply(context, [
        { name: 'a', detail: { kind: 'Deployment', metadata: { name: 'a' }, from: 'the orchestrator' } },
        { name: 'b', status: 'Pending' },
        { name: 'net', kind: 'Network' },
        { name: 'gone', kind: 'ConfigMap' },
        { app: 'source', cluster: 'p+edge02', name: 'c', status: 'Failed' },
      ])
      await emco.show(context, {
        deploymentStatuses: [shownDeployment('a'), shownDeployment('b', false)],
        podStatuses: [{ metadata: { name: 'a-1', namespace: 'default' }, status: { phase: 'Pending' } }],
      })
    })
    const names = ({ apps }: Answer): string[] =>
      apps.flatMap(({ clusters }: Answer) =>
        clusters.flatMap(({ resources }: Answer) => resources.map(({ name }: Answer) => name)),
      )

    it('shows what was applied, with counts of what it shows', async () => {
      const all = await emco.status()
      expect(all).toMatchObject({
        project: 'p',
        'composite-app-name': 'ca',
        'composite-app-version': 'v1',
        'composite-profile-name': 'profile',
        status: 'InstantiateFailed',
        'rsync-status': { Applied: 3, Pending: 1, Failed: 1 },
      })
      expect(names(all)).toEqual(['a', 'b', 'net', 'gone', 'c'])
      expect(all.apps[0].clusters[0].resources[0]).toEqual({
        GVK: { Group: 'apps', Version: 'v1', Kind: 'Deployment' },
        name: 'a',
        'rsync-status': 'Applied',
      })
      const { apps, ...head } = all
      expect(await emco.status('?output=summary')).toEqual(head)
      expect((await emco.status('?output=detail&resource=a')).apps[0].clusters[0].resources[0].detail).toEqual({
        kind: 'Deployment',
        metadata: { name: 'a' },
        from: 'the orchestrator',
      })
      expect(await emco.status('?output=rsync&resource=a')).toEqual(await emco.status('?output=detail&resource=a'))
    })

    it('shows what is there, what only the cluster has included', async () => {
      const cluster = await emco.status('?type=cluster')
      expect(cluster['cluster-status']).toEqual({ Present: 3, NotPresent: 1, Unknown: 2 })
      expect((await emco.status('?type=cluster&output=summary&app=source'))['cluster-status']).toEqual({ Unknown: 1 })
      expect(names(cluster)).toEqual(['a', 'b', 'a-1'])
      expect(cluster.apps[0].clusters[0].resources[0]).not.toHaveProperty('rsync-status')
      const detail = await emco.status('?type=cluster&output=detail&resource=a-1')
      expect(detail.apps[0].clusters[0].resources[0].detail).toMatchObject({ apiVersion: 'v1', kind: 'Pod' })
    })

    it.each([
      ['?app=source', { Failed: 1 }, ['c']],
      ['?app=source&app=sink', { Applied: 3, Pending: 1, Failed: 1 }, ['a', 'b', 'net', 'gone', 'c']],
      ['?cluster=p%2Bedge01', { Applied: 3, Pending: 1 }, ['a', 'b', 'net', 'gone']],
      ['?cluster=p+edge01', { Applied: 3, Pending: 1 }, ['a', 'b', 'net', 'gone']],
      ['?cluster=edge02', { Failed: 1 }, ['c']],
      ['?app=source&cluster=edge02&cluster=p%2Bedge01', { Failed: 1 }, ['c']],
      ['?cluster=edge', {}, []],
      ['?resource=a&resource=c', { Applied: 1, Failed: 1 }, ['a', 'c']],
      ['?resource=a&app=source', {}, []],
      ['?app=nobody', {}, []],
      ['?app=sink&unheard=of', { Applied: 3, Pending: 1 }, ['a', 'b', 'net', 'gone']],
    ])('filters by %s, and counts what is left', async (query, counts, expected) => {
      const answer = await emco.status(query)
      expect(names(answer)).toEqual(expected)
      expect(answer['rsync-status'] ?? {}).toEqual(counts)
      expect(answer.status).toBe('InstantiateFailed')
      const summary = await emco.status(`${query}&output=summary`)
      expect(summary['rsync-status'] ?? {}).toEqual(counts)
    })

    it('answers status=deployed and status=ready in the keys of 22.03', async () => {
      const deployed = await emco.status('?status=deployed&type=cluster')
      expect(deployed).toMatchObject({
        compositeApp: 'ca',
        compositeAppVersion: 'v1',
        compositeProfile: 'profile',
        states: {
          statusctxid: context,
          actions: [
            { state: 'Created', revision: 0 },
            { state: 'Approved', revision: 0 },
            { state: 'Instantiated', instance: context, revision: 1 },
          ],
        },
        deployedStatus: 'InstantiateFailed',
        deployedCounts: { Applied: 3, Pending: 1, Failed: 1 },
      })
      expect(deployed.apps[0].clusters[0]).toMatchObject({
        clusterProvider: 'p',
        cluster: 'edge01',
        connectivity: 'Unknown',
        resources: [{ name: 'a', deployedStatus: 'Applied' }, {}, {}, {}],
      })
      const ready = await emco.status('?status=ready')
      expect(ready).toMatchObject({
        deployedStatus: 'InstantiateFailed',
        readyStatus: 'NotReady',
        readyCounts: { Ready: 1, NotPresent: 1 },
      })
      const rows: Answer[] = ready.apps.flatMap(({ clusters }: Answer) =>
        clusters.flatMap(({ resources }: Answer) => resources),
      )
      const tally = (word: string) => rows.filter(({ readyStatus }) => readyStatus === word).length
      const { Ready = 0, NotReady = 0, NotPresent = 0 } = ready.readyCounts
      expect([Ready, NotReady, NotPresent]).toEqual(['Ready', 'NotReady', 'NotPresent'].map(tally))
      expect((await emco.status('?status=ready&resource=a')).readyStatus).toBe('Ready')
      expect((await emco.status('?status=ready&resource=gone')).readyStatus).toBe('NotPresent')
    })

    it('lists apps, clusters and resources, the first that is asked for', async () => {
      const cluster = (n: number) => ({ 'cluster-provider': 'p', cluster: `edge0${n}` })
      expect((await emco.status('?apps&clusters')).apps).toEqual(['sink', 'source'])
      expect((await emco.status('?clusters&resources'))['clusters-by-app']).toEqual([
        { app: 'sink', clusters: [cluster(1)] },
        { app: 'source', clusters: [cluster(2)] },
      ])
      const lists = (await emco.status('?resources'))['resources-by-app']
      expect(lists.map(({ resources }: Answer) => resources.length)).toEqual([4, 1])
      expect(lists[1]).toEqual({
        app: 'source',
        ...cluster(2),
        resources: [{ name: 'c', GVK: { Group: 'apps', Version: 'v1', Kind: 'Deployment' } }],
      })
      expect((await emco.status('?clusters&status=deployed')).clustersByApp).toEqual([
        { app: 'sink', clusters: [{ clusterProvider: 'p', cluster: 'edge01' }] },
        { app: 'source', clusters: [{ clusterProvider: 'p', cluster: 'edge02' }] },
      ])
      expect((await emco.status('?resources&status=ready')).resourcesByApp).toHaveLength(2)
      expect(await emco.status('?instance')).toMatchObject({ instances: [context] })
    })

    it.each([
      ['?type=both', 400, 'Invalid query type'],
      ['?status=fine', 400, 'Invalid query status'],
      ['?output=some', 400, 'Invalid query output'],
      ['?app=', 400, 'Invalid app query'],
      ['?cluster=%2Bedge01', 400, 'Invalid cluster query'],
      ['?cluster=', 400, 'Invalid cluster query'],
      ['?resource=', 400, 'Invalid resource query'],
      ['?instance=12345', 404, '12345'],
    ])('refuses %s', async (query, status, said) => {
      const reply = await emco.call('GET', `${emco.base}/status${query}`)
      expect([reply.status, JSON.stringify(reply.body)]).toEqual([status, expect.stringContaining(said)])
    })

    it('knows what it does not know', async () => {
      expect((await emco.call('GET', `${emco.base}x/status`)).status).toBe(404)
      expect((await emco.call('GET', '/v2/cluster-providers/p/clusters/nowhere/status')).status).toBe(404)
    })
  })

  it('takes a repeated action as done, and refuses one that may not follow', async () => {
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
        { ...place, name: 'a', 'rsync-status': 'Applied' },
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

  it('takes pictures in the order of their versions, and refuses those that are nobody’s', async () => {
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

  it('hears of a cluster’s connectivity', async () => {
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

  it('never stores what a Secret holds, whichever way it comes', async () => {
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
})
