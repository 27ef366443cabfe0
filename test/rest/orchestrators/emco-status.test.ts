/** EMCO's status queries beyond the examples of its design: every parameter (docs/wire.md §2). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Answer, type Emco, newContext, newGroup, shownDeployment } from '../../support/systems/emco.ts'

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
      ['?app=unknown', {}, []],
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

    it('reads a parameter up to its end, whatever is in it', async () => {
      const refused = await emco.call('GET', `${emco.base}/status?output=summary?x`)
      expect([refused.status, refused.body.detail]).toEqual([400, 'Invalid query output'])
      expect(names(await emco.status('?resource=a?'))).toEqual([])
    })

    it('waits for a slow client without a listener more for each part', async () => {
      const large = newGroup(server)
      const own = newContext()
      await large.act('Created', 'Approved', `Instantiated ${own}`)
      const detail = { spec: 'x'.repeat(100_000) }
      await large.apply(
        own,
        Array.from({ length: 40 }, (_, index) => ({ name: `n${index}`, detail })),
      )
      const warnings: string[] = []
      const note = ({ name }: Error): void => void warnings.push(name)
      process.on('warning', note)
      const answer = await large.status('?output=detail')
      expect(answer.apps[0].clusters[0].resources).toHaveLength(40)
      expect(answer.apps[0].clusters[0].resources[39]).toMatchObject({ name: 'n39', detail })
      process.off('warning', note)
      expect(warnings).toEqual([])
    })

    it('answers 404 for an unknown group or cluster', async () => {
      expect((await emco.call('GET', `${emco.base}x/status`)).status).toBe(404)
      expect((await emco.call('GET', '/v2/cluster-providers/p/clusters/nowhere/status')).status).toBe(404)
    })

    it('says of a cluster of which only the connectivity is known that it has no network intents', async () => {
      const path = '/v2/cluster-providers/p/clusters/heard'
      expect((await emco.call('PUT', `${path}/connectivity`, { connectivity: 'Available' })).status).toBe(200)
      const { status, body } = await emco.call('GET', `${path}/status`)
      expect([status, body.detail]).toEqual([404, 'there is no network intent of this cluster'])
    })
  })
})
