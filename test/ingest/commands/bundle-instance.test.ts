import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BundleInstance, ObservedObject } from '../../../src/domain/orchestration/orchestrated-facts.ts'
import { resourceBundle } from '../../../src/domain/rollout.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../../src/ingest/commands/bundle-instance.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import { findDeployments } from '../../../src/store/read/deployments.ts'
import { documentsOf } from '../../../src/store/read/orchestration/documents.ts'
import { instanceById, instancesOf } from '../../../src/store/read/orchestration/instances.ts'
import { countResources, pageResources } from '../../../src/store/read/orchestration/resources.ts'
import { rolloutByKeyArgs } from '../../../src/store/read/rollouts/rollouts.ts'
import { stores } from '../../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../../support/servers/road.ts'

const page = { size: 2_000, after: null, before: null, backward: false }

describe.each(stores)("a k8splugin's instance on $name", (store) => {
  let road: Road
  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  const resource = (name: string) => ({ group: 'apps', version: 'v1', kind: 'Deployment', name, namespace: 'ns' })
  const tell = (instanceId: string, reportedState: DeploymentState, more: Partial<BundleInstance> = {}) =>
    road.writer.submit(
      reportInstance({
        instanceId,
        rollout: resourceBundle('edgex', 'v1', instanceId.split('-')[0] ?? ''),
        cloudRegion: `region-${instanceId}`,
        component: 'edgex',
        reportedState,
        isEnding: false,
        resources: [resource('ui'), resource('vault')],
        document: JSON.stringify({ id: instanceId }),
        ...more,
      }),
    )
  const show = (instanceId: string, ...names: string[]) =>
    road.writer.submit(
      reportInstanceStatus(
        instanceId,
        names.map(
          (name): ObservedObject => ({
            ...resource(name),
            assessment: { readiness: 'READY', reason: null, message: null },
            detail: null,
          }),
        ),
      ),
    )
  const session = () => road.database.session
  const list = async (instanceId: string) => {
    const key = (await instanceById(session(), instanceId, null))?.key ?? 0
    const pages = await pageResources(session(), { of: 'instance', keys: [key] }, {}, page, null)
    return pages.get(key)?.edges.map(({ node }) => `${node.name} ${node.sync} ${node.presence} ${node.readiness}`)
  }

  it('has the state that is reported, and the readiness that is observed', async () => {
    expect(await tell('a', 'INSTALLING')).toMatchObject({ verdict: 'APPLIED', isNew: true })
    expect(await list('a')).toEqual(['ui PENDING UNKNOWN UNKNOWN', 'vault PENDING UNKNOWN UNKNOWN'])
    expect(await tell('a', 'INSTALLED')).toMatchObject({ verdict: 'APPLIED', isNew: false })
    expect(await tell('a', 'INSTALLED')).toMatchObject({ verdict: 'UNCHANGED' })
    expect(await show('a', 'ui', 'pod')).toMatchObject({ verdict: 'APPLIED' })
    expect(await list('a')).toEqual([
      'ui APPLIED PRESENT READY',
      'vault APPLIED NOT_PRESENT PENDING',
      'pod null PRESENT READY',
    ])
    expect(await findDeployments(session(), 'a', 'region-a', null)).toMatchObject([
      { state: 'INSTALLED', readiness: 'PENDING', components: [{ name: 'edgex', state: 'INSTALLED' }] },
    ])
    expect(await instanceById(session(), 'a', null)).toMatchObject({ status: 'INSTANTIATED' })
    await show('a', 'ui', 'vault')
    expect(await findDeployments(session(), 'a', null, null)).toMatchObject([{ readiness: 'READY' }])
    const key = (await instanceById(session(), 'a', null))?.key ?? 0
    expect((await documentsOf(session(), [key])).get(key)).toEqual({ id: 'a' })
    expect(await audit(session())).toEqual([])
  })

  it('is one of its rollout, over all its cloud-regions', async () => {
    for (const id of ['b-1', 'b-2']) await tell(id, 'INSTALLED')
    const rollout = await rolloutByKeyArgs(session(), resourceBundle('edgex', 'v1', 'b'), null)
    const key = rollout?.key ?? 0
    const counts = async () => (await countDeployments(session(), { of: 'rollout', keys: [key] }, {}, null)).get(key)
    const resources = async () => (await countResources(session(), { of: 'rollout', keys: [key] }, {}, null)).get(key)
    expect(await counts()).toMatchObject({ installed: 2 })
    expect(await resources()).toMatchObject({ total: 4 })
    await road.writer.submit(removeInstance('b-1'))
    expect(await counts()).toMatchObject({ installed: 1, removed: 1 })
    expect(await list('b-1')).toEqual(['ui DELETED NOT_PRESENT UNKNOWN', 'vault DELETED NOT_PRESENT UNKNOWN'])
    expect(await audit(session())).toEqual([])
  })

  it('moves to another rollout when it is upgraded, and to no other cloud-region', async () => {
    await tell('c', 'INSTALLED')
    await tell('c', 'INSTALLED', { rollout: resourceBundle('edgex', 'v2', 'c'), resources: [resource('ui')] })
    expect(await findDeployments(session(), 'c', null, null)).toMatchObject([{ applicationVersion: 'v2' }])
    expect(await list('c')).toEqual(['ui APPLIED UNKNOWN UNKNOWN'])
    await expect(tell('c', 'INSTALLED', { cloudRegion: 'elsewhere' })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(show('unknown')).rejects.toMatchObject({ code: 'NOT_FOUND_YET' })
    expect(await audit(session())).toEqual([])
  })

  it.each([1, 600])(
    'leaves nothing of its former bundle when it is upgraded to another, with %i resources',
    async (count) => {
      const names = Array.from({ length: count }, (_, n) => `r${n}`)
      const id = `e-${count}`
      const other = (name: string) => ({
        rollout: resourceBundle('other', 'v1', id),
        component: 'other',
        resources: [resource(name)],
      })
      const shown = async () => {
        const [deployment] = await findDeployments(session(), id, null, null)
        return { readiness: deployment?.readiness, components: deployment?.components?.map(({ name }) => name) }
      }
      await tell(id, 'INSTALLED', { resources: names.map(resource) })
      await tell(id, 'INSTALLED', other('new'))
      expect(await list(id)).toEqual(['new APPLIED UNKNOWN UNKNOWN'])
      expect(await shown()).toEqual({ readiness: 'UNKNOWN', components: ['other'] })
      // What the cluster still shows stays until the cluster shows it no more.
      await show(id, 'new', ...names)
      await tell(id, 'INSTALLED', { resources: names.map(resource) })
      expect(await list(id)).toHaveLength(2 * count + 1)
      await show(id, ...names)
      expect(await list(id)).toEqual(names.map((name) => `${name} APPLIED PRESENT READY`))
      expect(await shown()).toEqual({ readiness: 'READY', components: ['edgex'] })
      await tell(id, 'INSTALLED', other('new'))
      await road.writer.submit(removeInstance(id))
      expect(await list(id)).toEqual(['new DELETED NOT_PRESENT UNKNOWN'])
      expect(await audit(session())).toEqual([])
    },
  )

  it('takes its resources with it, now and in the changes that follow, and had them in its former rollout before', async () => {
    const versions = ['v1', 'v2', 'v3'].map((version) => resourceBundle('edgex', version, 'd'))
    const revisions: number[] = []
    for (const rollout of versions) {
      await tell('d', 'INSTALLED', { rollout })
      // A resource that changes, and one that does not.
      await show('d', 'ui', ...(rollout === versions[1] ? ['vault'] : []))
      revisions.push((await readHead(session())).revision)
    }
    const rows = await Promise.all(versions.map((name) => rolloutByKeyArgs(session(), name, null)))
    const keys = rows.map((row) => row?.key ?? 0)
    for (const [now, revision] of [...revisions, null].entries())
      for (const [of, key] of keys.entries()) {
        const expected = of === Math.min(now, 2) ? 2 : 0
        const scopes = [
          [{ of: 'fleet' }, { rolloutKeys: [key] }],
          [{ of: 'fleet' }, { where: { and: [{ rolloutKeys: [key] }] } }],
          [{ of: 'rollout', keys: [key] }, {}],
        ] as const
        for (const [scope, filter] of scopes) {
          const parent = scope.of === 'fleet' ? 0 : key
          const listed = (await pageResources(session(), scope, filter, page, revision)).get(parent)?.edges
          const counted = (await countResources(session(), scope, filter, revision)).get(parent)?.total
          expect([now, of, filter, listed?.length, counted]).toEqual([now, of, filter, expected, expected])
        }
        const instances = (await instancesOf(session(), [key], revision)).get(key)
        expect(instances?.map(({ rolloutKey }) => rolloutKey)).toEqual(expected === 0 ? [] : [key])
      }
    const changes = await readLog(session(), revisions[0] ?? 0, 1_000)
    const after = changes.filter(({ kind, deploymentId }) => kind === 'RESOURCE_STATUS_CHANGED' && deploymentId === 'd')
    const ofRollout = after.map(({ revision, rolloutKey }) => [revision > (revisions[1] ?? 0), rolloutKey])
    expect(new Set(ofRollout.map((pair) => JSON.stringify(pair)))).toEqual(
      new Set([JSON.stringify([false, keys[1]]), JSON.stringify([true, keys[2]])]),
    )
  })
})
