/** Resources of orchestrators and clusters by the thousand: what a divided command leaves equals what the same facts leave in small commands. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppliedResource, ObservedObject } from '../../../src/domain/orchestration/orchestrated-facts.ts'
import type { SyncStatus } from '../../../src/domain/orchestration/resource.ts'
import { deploymentIntentGroup, type LifecycleRolloutName, resourceBundle } from '../../../src/domain/rollout.ts'
import { partSize } from '../../../src/ingest/command-parts.ts'
import { removeInstance, reportInstance, reportInstanceStatus } from '../../../src/ingest/commands/bundle-instance.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { reportResources, reportStateSnapshot } from '../../../src/ingest/commands/resources.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { createWatchedRoad, type WatchedRoad } from './watched-road.ts'

const count = 2 * partSize + 7
const many = <T>(make: (n: number) => T, items = count): T[] => Array.from({ length: items }, (_, n) => make(n))
const cluster = (n: number) => ({ kind: 'CLUSTER', provider: 'p', name: `c${n}` }) as const
const named = (name: string) => ({ group: '', version: 'v1', kind: 'Pod', name, namespace: 'default' })
const applied = (n: number, on: number, sync: SyncStatus = 'APPLIED'): AppliedResource => ({
  ...{ ...named(`n-${n}`), component: `app-${n % 2}`, target: cluster(on), sync, showable: true },
})
const observed = (n: number): ObservedObject => ({
  ...{ ...named(`n-${n}`), assessment: { readiness: 'READY', reason: null, message: null }, detail: null },
})

describe.each(stores)('resources by the thousand on $name', (store) => {
  let empty: EmptyStore
  let watched: WatchedRoad
  beforeAll(async () => {
    empty = await store.create()
    watched = await createWatchedRoad(empty)
  })
  afterAll(async () => {
    expect(await audit(watched.road.database.session)).toEqual([])
    await watched.road.close()
    await empty.drop()
  })
  const rowsOf = (text: string, ...parameters: unknown[]) => watched.road.database.session.run(text, parameters)
  const submit: WatchedRoad['road']['writer']['submit'] = (command) => watched.road.writer.submit(command)

  async function begin(id: string): Promise<LifecycleRolloutName> {
    const name = deploymentIntentGroup('project', 'app', 'v1', id) as LifecycleRolloutName
    const states = ['CREATED', 'APPROVED', 'INSTANTIATED'] as const
    const facts = states.map((state) => ({
      ...{ state, instanceId: state === 'INSTANTIATED' ? id : null, at: null, timestamp: null, compositeProfile: null },
    }))
    await submit(recordActions(name, facts, 'an operator'))
    return name
  }
  const stateOf = async (id: string) => ({
    resources: await rowsOf(
      `select t.name as target, r.component, r.name, r.sync, r.presence, r.readiness, r.gone_at is null as there
        from resources r join targets t on t.key = r.target_key join instances i on i.key = r.instance_key
        where i.instance_id = $1 order by t.name, r.component, r.name`,
      id,
    ),
    deployments: await rowsOf(
      `select t.name as target, d.state, d.readiness,
          (select json_agg(json_build_array(c->'name', c->'state')) from json_array_elements(d.components::json) c) as components
        from deployments d join targets t on t.key = d.target_key
        where d.deployment_id = $1 order by t.name`,
      id,
    ),
    instance: await rowsOf('select status, has_failed from instances where instance_id = $1', id),
  })
  /** The number of entries of the log about each deployment. */
  const entriesOf = (id: string) =>
    rowsOf(
      `select t.name, count(*)::int as n from change_log l join deployments d on d.key = l.deployment_key and l.resource_key is null
        join targets t on t.key = d.target_key where d.deployment_id = $1 group by t.name order by t.name`,
      id,
    )

  it.runIf(isWhole)(
    'have the sums and verdicts of small commands, on one target and on many, and one change of each deployment',
    async () => {
      for (const [id, targets] of [
        ['one', 1],
        ['three', 3],
        ['each', count],
      ] as const) {
        const items = many((n) => applied(n, n % targets, n === 3 ? 'FAILED' : 'APPLIED'))
        // A resource twice: the second one finds the first, in whichever part.
        const twice = [...items.slice(0, -1), applied(0, 0, 'RETRYING')]
        const name = await begin(`large-${id}`)
        const { verdicts, revision } = await submit(reportResources(name, `large-${id}`, twice))
        expect(verdicts).toEqual(many(() => 'APPLIED'))
        const repeated = await submit(reportResources(name, `large-${id}`, twice.slice(1)))
        expect(repeated).toEqual({ revision, verdicts: many(() => 'UNCHANGED', count - 1) })
        expect(await entriesOf(`large-${id}`)).toEqual(
          many((n) => ({ name: `c${n}`, n: 1 }), Math.min(targets, count - 1)).toSorted((a, b) =>
            a.name < b.name ? -1 : 1,
          ),
        )

        const small = await begin(`small-${id}`)
        for (let first = 0; first < count; first += partSize)
          await submit(reportResources(small, `small-${id}`, twice.slice(first, first + partSize)))
        expect(await stateOf(`large-${id}`)).toEqual(await stateOf(`small-${id}`))
      }
    },
  )

  it.runIf(isWhole)('are present or not as a large snapshot of a cluster says', async () => {
    const show = async (id: string, resourceVersion: string, objects: readonly ObservedObject[]) =>
      submit(
        reportStateSnapshot(deploymentIntentGroup('project', 'app', 'v1', id) as LifecycleRolloutName, {
          ...{ context: id, component: 'app-0', target: cluster(0), uid: 'u', resourceVersion, objects },
          canShow: () => true,
        }),
      )
    const name = await begin('shown')
    const items = many((n) => applied(2 * n, 0), count)
    await submit(reportResources(name, 'shown', items))
    expect(await show('shown', '2', many(observed))).toMatchObject({ verdict: 'APPLIED' })
    expect(await show('shown', '2', many(observed))).toMatchObject({ verdict: 'UNCHANGED' })
    expect(await show('shown', '1', many(observed))).toMatchObject({ verdict: 'STALE' })
    const presence = () =>
      rowsOf(
        `select r.presence, r.sync, r.gone_at is null as there, count(*)::int as n from resources r join instances i on i.key = r.instance_key
          where i.instance_id = 'shown' group by 1, 2, 3 order by r.presence::text desc, 2, 3`,
      )
    // Listed: 0 to count - 1. Applied: the even numbers up to 2 * count - 2.
    const [both, onlyShown] = [Math.ceil(count / 2), Math.floor(count / 2)]
    expect(await presence()).toEqual([
      { presence: 'PRESENT', sync: 'APPLIED', there: true, n: both },
      { presence: 'PRESENT', sync: null, there: true, n: onlyShown },
      { presence: 'NOT_PRESENT', sync: 'APPLIED', there: true, n: count - both },
    ])
    // A small snapshot afterwards, and a large one that brings back what had gone.
    await show('shown', '3', [])
    expect(await presence()).toEqual([
      { presence: 'NOT_PRESENT', sync: 'APPLIED', there: true, n: count },
      { presence: 'NOT_PRESENT', sync: null, there: false, n: onlyShown },
    ])
    await show('shown', '4', many(observed))
    expect(await presence()).toMatchObject([{ n: both }, { n: onlyShown }, { n: count - both }])
    expect((await stateOf('shown')).deployments).toMatchObject([{ state: 'INSTALLED', readiness: 'PENDING' }])
  })

  it('follow a large instance of a k8splugin from its creation to its removal', async () => {
    const tell = (instanceId: string, names: readonly number[], name = 'r') =>
      submit(
        reportInstance({
          ...{ instanceId, rollout: resourceBundle('edgex', 'v1', name), cloudRegion: 'region', component: 'edgex' },
          ...{ reportedState: 'INSTALLED', isEnding: false, document: JSON.stringify({ id: instanceId }) },
          resources: names.map((n) => named(`n-${n}`)),
        }),
      )
    const counts = async (instanceId: string) => {
      const { resources, deployments } = await stateOf(instanceId)
      const there = resources.filter((row) => (row as { there: boolean }).there)
      const present = there.filter((row) => (row as { presence: string }).presence === 'PRESENT')
      return [
        there.length,
        present.length,
        (deployments[0] as { state: string; readiness: string } | undefined) ?? null,
      ]
    }
    expect(
      await tell(
        'k',
        many((n) => n),
      ),
    ).toMatchObject({ verdict: 'APPLIED', isNew: true })
    expect(await counts('k')).toMatchObject([count, 0, { state: 'INSTALLED', readiness: 'UNKNOWN' }])
    expect(await submit(reportInstanceStatus('k', many(observed)))).toMatchObject({ verdict: 'APPLIED' })
    expect(await counts('k')).toMatchObject([count, count, { readiness: 'READY' }])
    expect(await submit(reportInstanceStatus('k', many(observed)))).toMatchObject({ verdict: 'UNCHANGED' })
    // Half of them are others, and the instance moves to another release.
    expect(
      await tell(
        'k',
        many((n) => n + partSize),
        'moved',
      ),
    ).toMatchObject({ verdict: 'APPLIED', isNew: false })
    expect(await counts('k')).toMatchObject([count + partSize, count, { readiness: 'PENDING' }])
    expect(
      await tell(
        'k',
        many((n) => n + partSize),
        'moved',
      ),
    ).toMatchObject({ verdict: 'UNCHANGED', isNew: false })
    const [before, after] = [await entriesOf('k'), await submit(removeInstance('k'))]
    expect(after).toMatchObject({ verdict: 'APPLIED' })
    expect(await counts('k')).toMatchObject([count, 0, { state: 'REMOVED' }])
    expect(await entriesOf('k')).toMatchObject([{ n: (before[0] as { n: number }).n + 1 }])
    await expect(submit(removeInstance('absent'))).rejects.toMatchObject({ code: 'NOT_FOUND_YET' })
  })

  it('are in memory a part at a time', async () => {
    const region = { rollout: resourceBundle('edgex', 'v1', 'bound'), cloudRegion: 'region', component: 'edgex' }
    for (const write of [
      async (id: string, items: number) =>
        submit(
          reportResources(
            await begin(id),
            id,
            many((n) => applied(n, n % 3), items),
          ),
        ),
      async (id: string, items: number) =>
        submit(
          reportInstance({
            ...{ instanceId: `i-${id}`, ...region, reportedState: 'INSTALLED', isEnding: false, document: '{}' },
            resources: many((n) => named(`n-${n}`), items),
          }),
        ),
      async (id: string, items: number) => submit(reportInstanceStatus(`i-${id}`, many(observed, items))),
      async (id: string) => submit(removeInstance(`i-${id}`)),
    ]) {
      const ofOnePart = await watched.largest(() => write('bound-1', partSize))
      expect(await watched.largest(() => write('bound-3', count))).toBeLessThan(1.1 * ofOnePart)
    }
  })
})
