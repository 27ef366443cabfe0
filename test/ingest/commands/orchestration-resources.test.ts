/** Resources of a rollout: failed, pruned, counted and listed. */
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, it } from 'vitest'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { instanceById } from '../../../src/store/read/orchestration/instances.ts'
import {
  countResources,
  pageResources,
  type ResourceRow,
  sumOfReadiness,
} from '../../../src/store/read/orchestration/resources.ts'
import type { Page, PageRequest } from '../../../src/store/sql/order.ts'
import { pruneHistory } from '../../../src/store/write/retention.ts'
import { stores } from '../../support/databases/stores.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { edge01, useOrchestration } from './orchestration-harness.ts'

const dialect = new PgDialect()
const toText = (query: SQL): string => dialect.sqlToQuery(query).sql

describe.each(stores)('orchestration on $name', (store) => {
  const { road, rolloutNamed, act, applied, observed, snapshot, session, rollout } = useOrchestration(store)

  const listed = async (instanceId: string): Promise<string[]> => {
    const instance = await instanceById(session(), instanceId, null)
    const rows = await session().run<Record<'id' | 'sync' | 'presence' | 'readiness', string>>(
      `select r.api_group || '/' || version || ' ' || kind || ' ' || name as id, sync, presence, readiness
       from resources r where instance_key = $1::bigint and gone_at is null`,
      [instance?.key ?? 0],
    )
    return rows.map(({ id, sync, presence, readiness }) => `${id} ${sync} ${presence} ${readiness}`).toSorted()
  }

  it('has failed as soon as one resource has, whatever is still tried beside it', async () => {
    const { name, a } = rolloutNamed()
    const tell = (...items: Parameters<typeof applied>[]) =>
      road().writer.submit(
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

  it('finds an object that the cluster shows in the group to which Kubernetes moved its kind', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const ingress = applied('i', 'APPLIED', { group: 'extensions', version: 'v1beta1', kind: 'Ingress' })
    const other = applied('i', 'APPLIED', { group: 'example.org', kind: 'Ingress', namespace: 'default' })
    await road().writer.submit(reportResources(name, a, [applied('x', 'APPLIED', { group: 'extensions' }), ingress]))
    await snapshot(name, a, '1', [
      observed('x'),
      observed('i', { group: 'networking.k8s.io', kind: 'Ingress' }),
      observed('i', { group: 'example.org', kind: 'Ingress' }),
    ])
    await road().writer.submit(reportResources(name, a, [ingress, other]))
    expect(await listed(a)).toEqual([
      'example.org/v1 Ingress i APPLIED PRESENT READY',
      'extensions/v1 Deployment x APPLIED PRESENT READY',
      'extensions/v1beta1 Ingress i APPLIED PRESENT READY',
    ])
  })

  it('keeps the version that the orchestrator applied, and takes a repeat for one, whatever version the cluster shows', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const old = applied('x', 'APPLIED', { version: 'v1beta2' })
    await snapshot(name, a, '1', [observed('x')])
    await road().writer.submit(reportResources(name, a, [old]))
    const { revision } = await snapshot(name, a, '2', [observed('x')])
    expect(await road().writer.submit(reportResources(name, a, [old]))).toMatchObject({
      revision,
      verdicts: ['UNCHANGED'],
    })
    expect(await snapshot(name, a, '3', [observed('x')])).toEqual({ revision, verdict: 'UNCHANGED' })
    expect(await listed(a)).toEqual(['apps/v1beta2 Deployment x APPLIED PRESENT READY'])
  })

  it('keeps no resource that is gone longer than the history, and lets its name come again', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const pod = observed('pod-1', { kind: 'Pod', group: '' })
    await snapshot(name, a, '1', [pod, observed('x')])
    await snapshot(name, a, '2', [observed('x')])
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
    expect(await pruneHistory(road().database, 0, 100)).toBe(0)
    expect(await stored()).toHaveLength(2)
    while ((await pruneHistory(road().database, Date.now() + 1_000, 100)) > 0);
    expect(await stored()).toEqual([['x', false, true]])
    expect(
      await session().run('select key from resource_details where key not in (select key from resources)'),
    ).toEqual([])
    await snapshot(name, a, '3', [pod, observed('x')])
    expect(await stored()).toEqual([
      ['pod-1', false, true],
      ['x', false, true],
    ])
    expect(await audit(session())).toEqual([])
  })

  it('has tallies that the audit finds out when they are off', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    await road().writer.submit(reportResources(name, a, [applied('x', 'APPLIED'), applied('y', 'PENDING')]))
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

  it.runIf(isWhole)('counts 50,000 resources without reading them, and lists them in pages', async () => {
    const { name, a } = rolloutNamed()
    await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const [total, call] = [50_000, 10_000]
    for (let from = 0; from < total; from += call) {
      const items = Array.from({ length: call }, (_, i) => {
        const n = from + i
        const target = { ...edge01, name: `edge${n % 50}` }
        return applied(`r${n}`, n % 4 ? 'APPLIED' : 'PENDING', { target, component: `app${n % 7}` })
      })
      const { verdicts } = await road().writer.submit(reportResources(name, a, items))
      expect(new Set(verdicts)).toEqual(new Set(['APPLIED']))
    }
    const key = (await instanceById(session(), a, null))?.key ?? 0
    const read: number[] = []
    const texts: string[] = []
    const snapshot = await road().database.snapshot()
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
