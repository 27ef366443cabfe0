import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toDetail } from '../../src/dialects/kubernetes/detail.ts'
import type { LifecycleState } from '../../src/domain/lifecycle.ts'
import type { SyncStatus } from '../../src/domain/resource.ts'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../src/domain/rollout.ts'
import { type ActionFact, recordActions } from '../../src/ingest/commands/act.ts'
import {
  type AppliedResource,
  type ObservedObject,
  reportResources,
  reportStateSnapshot,
} from '../../src/ingest/commands/resources.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { audit } from '../../src/store/read/audit.ts'
import { readLog } from '../../src/store/read/changes.ts'
import { countDeployments } from '../../src/store/read/deployment-counts.ts'
import { findDeployments } from '../../src/store/read/deployments.ts'
import { actionsOf, instanceById, instancesOf } from '../../src/store/read/instances.ts'
import { countResources, pageResources, type ResourceRow, sumOfReadiness } from '../../src/store/read/resources.ts'
import { rolloutByKeyArgs, rolloutsByKey } from '../../src/store/read/rollouts.ts'
import type { Page, PageRequest } from '../../src/store/sql/order.ts'
import { pruneHistory } from '../../src/store/write/housekeeping.ts'
import { createEmptyRoad, type Road } from '../support/road.ts'
import { stores } from '../support/stores.ts'

const dialect = new PgDialect()
const toText = (query: SQL): string => dialect.sqlToQuery(query).sql

const edge01 = { kind: 'CLUSTER', provider: 'p', name: 'edge01' } as const

describe.each(stores)('orchestration on $name', (store) => {
  let road: Road
  let count = 0

  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  /** A rollout of its own for each test, with the contexts of its instances. */
  function rolloutNamed(): { name: LifecycleRolloutName; a: string; b: string } {
    count += 1
    const name = deploymentIntentGroup('project', 'app', 'v1', `dig${count}`) as LifecycleRolloutName
    return { name, a: `${count}01`, b: `${count}02` }
  }
  const act = (name: LifecycleRolloutName, ...actions: readonly (LifecycleState | [LifecycleState, string])[]) =>
    road.writer.submit(
      recordActions(
        name,
        actions.map((action): ActionFact => {
          const [state, instanceId] = typeof action === 'string' ? [action, null] : action
          return { state, instanceId, at: null, timestamp: null, compositeProfile: null }
        }),
      ),
    )
  const applied = (name: string, sync: SyncStatus, more: Partial<AppliedResource> = {}): AppliedResource => ({
    component: 'sink',
    target: edge01,
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    name,
    namespace: null,
    sync,
    showable: true,
    ...more,
  })
  const observed = (name: string, more: Partial<ObservedObject> = {}): ObservedObject => ({
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    name,
    namespace: 'default',
    assessment: { readiness: 'READY', reason: null, message: null },
    detail: toDetail({ kind: 'Deployment', metadata: { name } }),
    ...more,
  })
  const picture = (
    name: LifecycleRolloutName,
    context: string,
    resourceVersion: string | null,
    objects: readonly ObservedObject[],
  ) =>
    road.writer.submit(
      reportStateSnapshot(name, {
        context,
        component: 'sink',
        target: edge01,
        uid: null,
        resourceVersion,
        objects,
        canShow: (_, kind) => kind !== 'Network',
      }),
    )
  const session = () => road.database.session
  const rollout = async (name: LifecycleRolloutName) => {
    const found = await rolloutByKeyArgs(session(), name, null)
    if (!found) throw new Error('no such rollout')
    return found
  }
  const head = async () => (await readHead(session())).revision
  const since = async (revision: number) => (await readLog(session(), revision, 1000)).map((change) => change.kind)

  it('follows a rollout from its creation to INSTANTIATED, and its deployment with it', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    expect(await rollout(name)).toMatchObject({ state: 'INSTANTIATED', status: 'INSTANTIATING' })
    const before = await head()
    await road.writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'PENDING')]))
    expect(await since(before)).toEqual([
      'RESOURCE_STATUS_CHANGED',
      'RESOURCE_STATUS_CHANGED',
      'DEPLOYMENT_STATE_CHANGED',
      'COMPONENT_STATE_CHANGED',
      'DEPLOYMENT_REVISED',
    ])
    const [deployment] = await findDeployments(session(), a, null, null)
    expect(deployment).toMatchObject({
      reporter: 'p+edge01',
      state: 'INSTALLING',
      application: 'app',
      components: [{ name: 'sink', state: 'INSTALLING' }],
    })
    const again = await road.writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'APPLIED')]))
    expect(again.verdicts).toEqual(['UNCHANGED', 'APPLIED'])
    expect(await rollout(name)).toMatchObject({ status: 'INSTANTIATED' })
    expect(await findDeployments(session(), a, 'p+edge01', null)).toMatchObject([
      { state: 'INSTALLED', derivedState: 'INSTALLED' },
    ])
    expect(await audit(session())).toEqual([])
    // As of before its resources were known there was no deployment.
    expect(await findDeployments(session(), a, null, before)).toEqual([])
    const key = (await rollout(name)).key
    expect((await rolloutsByKey(session(), [key], before)).get(key)).toMatchObject({ status: 'INSTANTIATING' })
  })

  it('takes the whole picture of a cluster: matches, announces what vanished, refuses what is out of order', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await road.writer.submit(
      reportResources(name, a, [
        applied('x', 'APPLIED'),
        applied('n', 'APPLIED', { kind: 'Network', showable: false }),
      ]),
    )
    const { verdict } = await picture(name, a, '10', [observed('x'), observed('x-pod', { group: '', kind: 'Pod' })])
    expect(verdict).toBe('APPLIED')
    const instance = await instanceById(session(), a, null)
    const scope = { of: 'instance', keys: [instance?.key ?? 0] } as const
    const page = { size: 10, after: null, before: null, backward: false }
    const list = async (asOf: number | null = null) =>
      (await pageResources(session(), scope, {}, page, asOf)).get(scope.keys[0] ?? 0)?.edges.map(({ node }) => node)
    expect(await list()).toMatchObject([
      { name: 'x', namespace: 'default', sync: 'APPLIED', presence: 'PRESENT', readiness: 'READY' },
      { name: 'n', sync: 'APPLIED', presence: 'UNKNOWN', showable: false },
      { name: 'x-pod', sync: null, presence: 'PRESENT' },
    ])
    expect((await sumOfReadiness(session(), scope, null)).get(scope.keys[0])).toBe('READY')
    const then = await head()
    expect((await picture(name, a, '9', [])).verdict).toBe('STALE')
    expect((await picture(name, a, '11', [])).verdict).toBe('APPLIED')
    expect(await list()).toMatchObject([
      { name: 'x', presence: 'NOT_PRESENT', readiness: 'PENDING', reason: 'NotPresent' },
      { name: 'n' },
    ])
    expect(await list(then)).toMatchObject([{ name: 'x', presence: 'PRESENT' }, { name: 'n' }, { name: 'x-pod' }])
    const counts = (await countResources(session(), scope, {}, null)).get(scope.keys[0] ?? 0)
    expect(counts).toMatchObject({ total: 2, sync: { APPLIED: 2 }, presence: { NOT_PRESENT: 1, UNKNOWN: 1 } })
    const rows = (await countResources(session(), scope, { kinds: ['Deployment', 'Network', 'Pod'] }, null)).get(
      scope.keys[0] ?? 0,
    )
    expect(rows).toEqual(counts)
    expect((await countResources(session(), scope, {}, then)).get(scope.keys[0] ?? 0)).toMatchObject({
      total: 3,
      presence: { PRESENT: 2 },
    })
    expect((await sumOfReadiness(session(), scope, then)).get(scope.keys[0])).toBe('READY')
    expect(await findDeployments(session(), a, null, null)).toMatchObject([
      { state: 'INSTALLED', readiness: 'PENDING' },
    ])
    expect(await findDeployments(session(), a, null, then)).toMatchObject([{ state: 'INSTALLED', readiness: 'READY' }])
  })

  it('updates: the old instance gives way, both are covered by the shared context, the rollout shows the new one', async () => {
    const { name, a, b } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await road.writer.submit(reportResources(name, a, [applied('x', 'APPLIED')]))
    const before = await head()
    await act(name, ['UPDATED', b])
    expect(await rollout(name)).toMatchObject({ state: 'UPDATED', status: 'CREATED' })
    await act(name, ['INSTANTIATED', b])
    const key = (await rollout(name)).key
    const instances = async () =>
      ((await instancesOf(session(), [key], null)).get(key) ?? []).map((i) => [
        i.instanceId,
        i.status,
        i.revisionNumber,
      ])
    expect(await instances()).toEqual([
      [a, 'UPDATING', 1],
      [b, 'INSTANTIATING', 2],
    ])
    await road.writer.submit(reportResources(name, b, [applied('x', 'APPLIED')]))
    expect(await instances()).toEqual([
      [a, 'UPDATED', 1],
      [b, 'INSTANTIATED', 2],
    ])
    await picture(name, a, '5', [observed('x')])
    for (const id of [a, b])
      expect(await findDeployments(session(), id, null, null)).toMatchObject([
        { readiness: 'READY', isCurrent: id === b },
      ])
    const counted = async (asOf: number | null) =>
      (await countDeployments(session(), { of: 'rollout', keys: [key] }, {}, asOf)).get(key)
    expect(await counted(null)).toMatchObject({ installed: 1 })
    expect(await counted(before)).toMatchObject({ installed: 1 })
    expect((await actionsOf(session(), [key], before)).get(key)?.map(({ state }) => state)).toEqual([
      'CREATED',
      'APPROVED',
      'INSTANTIATED',
    ])
    expect(await audit(session())).toEqual([])
  })

  it('terminates, and says what is not allowed', async () => {
    const { name, a, b } = rolloutNamed()
    await expect(act(name, 'APPROVED')).rejects.toMatchObject({ code: 'NOT_FOUND_YET' })
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await road.writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'APPLIED')]))
    await expect(act(name, 'APPROVED')).rejects.toMatchObject({
      code: 'CONFLICT',
      facts: { state: 'Instantiated', allowed: ['Instantiated', 'Terminated', 'InstantiateStopped', 'Updated'] },
    })
    await act(name, 'TERMINATED')
    expect(await rollout(name)).toMatchObject({ state: 'TERMINATED', status: 'TERMINATING' })
    expect(await findDeployments(session(), a, null, null)).toMatchObject([{ state: 'REMOVING' }])
    expect(await act(name, 'TERMINATED')).toMatchObject({ recorded: 0 })
    await road.writer.submit(reportResources(name, a, [applied('x', 'DELETED'), applied('y', 'FAILED')]))
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATE_FAILED' })
    await road.writer.submit(reportResources(name, a, [applied('y', 'DELETED')]))
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATED' })
    await act(name, 'APPROVED')
    expect(await rollout(name)).toMatchObject({ state: 'APPROVED', status: 'TERMINATED' })
    await act(name, ['INSTANTIATED', b])
    expect(await rollout(name)).toMatchObject({ status: 'INSTANTIATING' })
    await expect(road.writer.submit(reportResources(name, 'nobody', []))).rejects.toMatchObject({
      code: 'NOT_FOUND_YET',
    })
    expect(await audit(session())).toEqual([])
  })

  it('has failed as soon as one resource has, whatever is still tried beside it', async () => {
    const { name, a } = rolloutNamed()
    const tell = (...items: Parameters<typeof applied>[]) =>
      road.writer.submit(
        reportResources(
          name,
          a,
          items.map((item) => applied(...item)),
        ),
      )
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await tell(['x', 'FAILED'], ['y', 'RETRYING'], ['z', 'PENDING'])
    expect(await rollout(name)).toMatchObject({ status: 'INSTANTIATE_FAILED' })
    await act(name, 'TERMINATED')
    // What failed to be applied has not failed to be deleted.
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATING' })
    await tell(['y', 'DELETED'])
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATING' })
    await tell(['x', 'FAILED'])
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATE_FAILED' })
    await tell(['x', 'DELETED'], ['z', 'RETRYING'])
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATING' })
    await tell(['z', 'FAILED'])
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATE_FAILED' })
    await tell(['z', 'DELETED'])
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATED' })
    expect(await audit(session())).toEqual([])
  })

  it('keeps no resource that is gone longer than the history, and lets its name come again', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const pod = observed('pod-1', { kind: 'Pod', group: '' })
    await picture(name, a, '1', [pod, observed('x')])
    await picture(name, a, '2', [observed('x')])
    const stored = async () => {
      const instance = await instanceById(session(), a, null)
      const rows = await session().run<{ name: string; gone: boolean; detail: boolean }>(
        `select r.name, r.gone_at is not null as gone, d.key is not null as detail from resources r
         left join resource_details d on d.key = r.key where r.instance_key = $1::bigint order by r.name`,
        [instance?.key ?? 0],
      )
      return rows.map((row) => [row.name, row.gone, row.detail])
    }
    expect(await stored()).toEqual([
      ['pod-1', true, true],
      ['x', false, true],
    ])
    // Of what the history still tells, it can still be shown what it is.
    expect(await pruneHistory(road.database, 0, 100)).toBe(0)
    expect(await stored()).toHaveLength(2)
    while ((await pruneHistory(road.database, Date.now() + 1_000, 100)) > 0);
    expect(await stored()).toEqual([['x', false, true]])
    expect(
      await session().run('select key from resource_details where key not in (select key from resources)'),
    ).toEqual([])
    await picture(name, a, '3', [pod, observed('x')])
    expect(await stored()).toEqual([
      ['pod-1', false, true],
      ['x', false, true],
    ])
    expect(await audit(session())).toEqual([])
  })

  it('has tallies that the audit finds out when they are off', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await road.writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'PENDING')]))
    const key = (await instanceById(session(), a, null))?.key
    const correct = (by: number) =>
      session().run(`update resource_tallies set n = n + $2::int where owner_key = $1::bigint and sync = 'PENDING'`, [
        key ?? 0,
        by,
      ])
    await correct(2)
    expect(await audit(session(), 3)).toEqual([
      { scope: `resources:#${key}`, field: expect.stringContaining('sink/PENDING'), counted: 3, recounted: 1 },
    ])
    await correct(-3)
    expect(await audit(session())).toMatchObject([{ counted: 0, recounted: 1 }])
    await correct(1)
    expect(await audit(session())).toEqual([])
  })

  it('counts 50,000 resources without reading them, and lists them in pages', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const [total, call] = [50_000, 10_000]
    for (let from = 0; from < total; from += call) {
      const items = Array.from({ length: call }, (_, i) => {
        const n = from + i
        const target = { ...edge01, name: `edge${n % 50}` }
        return applied(`r${n}`, n % 4 ? 'APPLIED' : 'PENDING', { target, component: `app${n % 7}` })
      })
      const { verdicts } = await road.writer.submit(reportResources(name, a, items))
      expect(new Set(verdicts)).toEqual(new Set(['APPLIED']))
    }
    const key = (await instanceById(session(), a, null))?.key ?? 0
    const read: number[] = []
    const texts: string[] = []
    const snapshot = await road.database.snapshot()
    try {
      const counting: typeof snapshot = Object.create(snapshot, {
        rows: {
          value: async (query: Parameters<typeof snapshot.rows>[0]) => {
            const rows = await snapshot.rows(query)
            read.push(rows.length)
            texts.push(toText(query))
            return rows
          },
        },
      })
      const scope = { of: 'instance', keys: [key] } as const
      const counts = (await countResources(counting, scope, {}, null)).get(key)
      expect(counts).toMatchObject({ total, sync: { APPLIED: 37_500, PENDING: 12_500 } })
      const some = (await countResources(counting, scope, { apps: ['app3'], clusters: ['p+edge7'] }, null)).get(key)
      expect(some?.total).toBe(
        Array.from({ length: total }, (_, n) => n).filter((n) => n % 7 === 3 && n % 50 === 7).length,
      )
      await sumOfReadiness(counting, scope, null)
      // Tallies by component, cluster and status, never a row each.
      expect(Math.max(...read)).toBeLessThan(100)
      for (const text of texts) expect(text).not.toMatch(/"resources"/)

      const names = new Set<string>()
      for (let after: string | null = null; ; ) {
        const request: PageRequest = { size: 1_000, after, before: null, backward: false }
        const found: Page<ResourceRow> | undefined = (await pageResources(counting, scope, {}, request, null)).get(key)
        for (const { node } of found?.edges ?? []) names.add(node.name)
        after = found?.edges.at(-1)?.cursor ?? null
        if (!found?.hasNextPage) break
      }
      expect(names.size).toBe(total)
      expect(Math.max(...read)).toBeLessThanOrEqual(1_001)
    } finally {
      await snapshot.close()
    }
  })
})
