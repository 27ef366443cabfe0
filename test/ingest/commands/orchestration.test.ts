import { describe, expect, it } from 'vitest'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import { findDeployments } from '../../../src/store/read/deployments.ts'
import { actionsOf, instanceById, instancesOf } from '../../../src/store/read/orchestration/instances.ts'
import { countResources, pageResources, sumOfReadiness } from '../../../src/store/read/orchestration/resources.ts'
import { rolloutsByKey } from '../../../src/store/read/rollouts/rollouts.ts'
import { stores } from '../../support/databases/stores.ts'
import { useOrchestration } from './orchestration-harness.ts'

describe.each(stores)('orchestration on $name', (store) => {
  const { road, rolloutNamed, act, applied, observed, snapshot, session, rollout, head, since } =
    useOrchestration(store)

  it('follows a rollout from its creation to INSTANTIATED, and its deployment with it', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    expect(await rollout(name)).toMatchObject({ state: 'INSTANTIATED', status: 'INSTANTIATING' })
    const before = await head()
    await road().writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'PENDING')]))
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
    const again = await road().writer.submit(
      reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'APPLIED')]),
    )
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

  it('takes the whole snapshot of a cluster: matches, announces what vanished, refuses what is out of order', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await road().writer.submit(
      reportResources(name, a, [
        applied('x', 'APPLIED'),
        applied('n', 'APPLIED', { kind: 'Network', showable: false }),
      ]),
    )
    const { verdict } = await snapshot(name, a, '10', [observed('x'), observed('x-pod', { group: '', kind: 'Pod' })])
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
    expect((await snapshot(name, a, '9', [])).verdict).toBe('STALE')
    expect((await snapshot(name, a, '11', [])).verdict).toBe('APPLIED')
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
    await road().writer.submit(reportResources(name, a, [applied('x', 'APPLIED')]))
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
    await road().writer.submit(reportResources(name, b, [applied('x', 'APPLIED')]))
    expect(await instances()).toEqual([
      [a, 'UPDATED', 1],
      [b, 'INSTANTIATED', 2],
    ])
    await snapshot(name, a, '5', [observed('x')])
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
    await road().writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'APPLIED')]))
    await expect(act(name, 'APPROVED')).rejects.toMatchObject({
      code: 'CONFLICT',
      facts: { state: 'Instantiated', allowed: ['Instantiated', 'Terminated', 'InstantiateStopped', 'Updated'] },
    })
    await act(name, 'TERMINATED')
    expect(await rollout(name)).toMatchObject({ state: 'TERMINATED', status: 'TERMINATING' })
    expect(await findDeployments(session(), a, null, null)).toMatchObject([{ state: 'REMOVING' }])
    expect(await act(name, 'TERMINATED')).toMatchObject({ recorded: 0 })
    await road().writer.submit(reportResources(name, a, [applied('x', 'DELETED'), applied('y', 'FAILED')]))
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATE_FAILED' })
    await road().writer.submit(reportResources(name, a, [applied('y', 'DELETED')]))
    expect(await rollout(name)).toMatchObject({ status: 'TERMINATED' })
    await act(name, 'APPROVED')
    expect(await rollout(name)).toMatchObject({ state: 'APPROVED', status: 'TERMINATED' })
    await act(name, ['INSTANTIATED', b])
    expect(await rollout(name)).toMatchObject({ status: 'INSTANTIATING' })
    await expect(road().writer.submit(reportResources(name, 'unknown', []))).rejects.toMatchObject({
      code: 'NOT_FOUND_YET',
    })
    expect(await audit(session())).toEqual([])
  })
})
