/** Lists and counts of resources, by any filter, selector and order, now and as of each revision: as the reference says. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesLabel } from '../../../../src/domain/selectors/label-condition.ts'
import { matchesSelector } from '../../../../src/domain/selectors/selector.ts'
import type { Target } from '../../../../src/domain/target.ts'
import { type Millis, type Revision, readinesses } from '../../../../src/domain/values.ts'
import { reportResources } from '../../../../src/ingest/commands/resources.ts'
import type { ResourceCondition, ResourceFilter } from '../../../../src/store/read/filters/resource-filter.ts'
import { countResources, pageResources, type ResourceRow } from '../../../../src/store/read/orchestration/resources.ts'
import { type ResourceOrder, resourceOrderFields } from '../../../../src/store/read/orders/resource-order.ts'
import { type TargetRecord, toTarget } from '../../../../src/store/sql/rows.ts'
import { type ResourceRecord, toResource } from '../../../../src/store/sql/rows-orchestration.ts'
import { edge01, useOrchestration } from '../../../ingest/commands/orchestration-harness.ts'
import { stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { pickerOf } from '../history.ts'
import { labelConditions, selectors, some, valuesOf } from '../reference.ts'

type Row = Omit<ResourceRow, 'asOf'>

interface Moment {
  /** Null: the present. */
  readonly revision: Revision | null
  /** Of the instances that were current. */
  readonly rows: readonly Row[]
}

interface Context {
  readonly targets: ReadonlyMap<number, Target>
  readonly instanceIds: ReadonlyMap<number, string>
}

function matches({ where, ...leaf }: ResourceFilter, row: Row, context: Context): boolean {
  const target = context.targets.get(row.targetKey)
  if (!target) throw new Error('a resource is on a target')
  const any = <T>(wanted: readonly T[] | undefined, value: T | null | undefined): boolean =>
    wanted === undefined || (value !== null && value !== undefined && wanted.includes(value))
  const { labels, label, text } = leaf
  const texts = [row.name, row.namespace, row.kind, row.component, row.reason, row.message, target.name]
  return (
    any(leaf.keys, row.key) &&
    any(leaf.rolloutKeys, row.rolloutKey) &&
    any(leaf.deploymentIds, context.instanceIds.get(row.instanceKey)) &&
    any(leaf.apps, row.component) &&
    (!leaf.clusters || leaf.clusters.some((name) => [`p+${target.name}`, `+${target.name}`].includes(name))) &&
    (!labels || labels.some(({ key, value }) => valuesOf(target, key).includes(value))) &&
    (!label || matchesLabel(label, valuesOf(target, label.key))) &&
    any(leaf.connectivity, target.connectivity) &&
    any(leaf.names, row.name) &&
    any(leaf.groups, row.group) &&
    any(leaf.kinds, row.kind) &&
    any(leaf.namespaces, row.namespace) &&
    any(leaf.sync, row.sync) &&
    any(leaf.presence, row.presence) &&
    any(leaf.readiness, row.readiness) &&
    any(leaf.reasons, row.reason) &&
    (text === undefined || texts.some((value) => value?.toLowerCase().includes(text.toLowerCase()))) &&
    (leaf.changedAfter === undefined || row.changedAt > leaf.changedAfter) &&
    (leaf.changedBefore === undefined || row.changedAt < leaf.changedBefore) &&
    (where === undefined || matchesSelector(where, (part) => matches(part, row, context)))
  )
}

const conditionsOf = (
  keys: readonly number[],
  rolloutKeys: readonly number[],
  times: readonly Millis[],
): fc.Arbitrary<ResourceCondition> =>
  fc.record(
    {
      keys: some(keys),
      rolloutKeys: some(rolloutKeys),
      deploymentIds: some(['101', '102', '201']),
      apps: some(['sink', 'source']),
      clusters: some(['p+edge01', '+edge02', 'region']),
      labels: some([{ key: 'site', value: 'north' }]),
      label: labelConditions,
      connectivity: some(['ONLINE', 'UNKNOWN', 'RETRYING'] as const),
      names: some(['x', 'y', 'pod']),
      groups: some(['apps', '']),
      kinds: some(['Deployment', 'Pod']),
      namespaces: some(['default']),
      sync: some(['APPLIED', 'PENDING', 'FAILED'] as const),
      presence: some(['PRESENT', 'NOT_PRESENT', 'UNKNOWN'] as const),
      readiness: some(readinesses),
      reasons: some(['NotPresent', 'CrashLoopBackOff']),
      text: fc.constantFrom('', 'CRASH', 'back-off 5', 'default', 'EDGE02', '%', '\0'),
      changedAfter: fc.constantFrom(...times),
      changedBefore: fc.constantFrom(...times),
    },
    { requiredKeys: [] },
  )

function comparator({ field, descending }: ResourceOrder): (a: Row, b: Row) => number {
  const place = (row: Row): number | string =>
    ({
      ...{ CREATED: row.key, CHANGED: row.revision, NAME: row.name, READINESS: readinesses.indexOf(row.readiness) },
    })[field]
  const ascending = (a: Row, b: Row): number => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : a.key - b.key)
  return descending ? (a, b) => ascending(b, a) : ascending
}

describe.each(stores)('resources on $name', (store) => {
  const { road, rolloutNamed, act, applied, observed, snapshot, session, head } = useOrchestration(store)

  it('are listed and counted as the reference says, now and in the past', async () => {
    const pick = pickerOf(5)
    const moments: Moment[] = []
    const groups = [rolloutNamed(), rolloutNamed()]
    for (const { name, a } of groups) await act(name, 'CREATED', 'APPROVED', ['INSTANTIATED', a])
    const isCurrent = new Map(groups.map(({ name, a }) => [name, a]))
    const rowsNow = async (): Promise<Row[]> =>
      (
        await session().run<ResourceRecord>(
          'select * from resources where gone_at is null and instance_key in (select key from instances where is_current)',
        )
      ).map(toResource)
    for (let step = 1; step <= 20; step += 1) {
      const { name, a, b } = pick.one(groups)
      if (step === 12) {
        const [first] = groups
        if (first) {
          await act(first.name, ['UPDATED', first.b])
          await act(first.name, ['INSTANTIATED', first.b])
          isCurrent.set(first.name, first.b)
        }
      }
      const context = isCurrent.get(name) === b ? pick.one([a, b]) : a
      if (pick.flip()) {
        const target = pick.one([edge01, { ...edge01, name: 'edge02' }])
        const sync = pick.one(['APPLIED', 'PENDING', 'FAILED'] as const)
        const more = { target, component: pick.one(['sink', 'source']) }
        await road().writer.submit(reportResources(name, context, [applied(pick.one(['x', 'y']), sync, more)]))
      } else {
        const failed = { readiness: 'FAILED', reason: 'CrashLoopBackOff', message: 'back-off 5m' } as const
        await snapshot(name, context, String(step), [
          ...(pick.flip() ? [observed('x', pick.flip() ? { assessment: failed } : {})] : []),
          ...(pick.flip() ? [observed('pod', { group: '', kind: 'Pod' })] : []),
        ])
      }
      moments.push({ revision: await head(), rows: await rowsNow() })
    }
    await session().run(
      `update targets set labels = '[{"key": "site", "value": "north"}]', connectivity = 'ONLINE' where name = 'edge02'`,
    )
    moments.push({ revision: null, rows: await rowsNow() })
    const targets = (await session().run<TargetRecord>('select * from targets')).map(toTarget)
    const instances = await session().run<{ key: number; instance_id: string }>(
      'select key, instance_id from instances',
    )
    const context: Context = {
      targets: new Map(targets.map((target) => [target.key, target])),
      instanceIds: new Map(instances.map(({ key, instance_id: id }) => [key, id])),
    }
    const known = moments.flatMap(({ rows }) => rows)
    const leaves = conditionsOf(
      [...new Set(known.map(({ key }) => key))],
      [...new Set(known.map(({ rolloutKey }) => rolloutKey))],
      known.map(({ changedAt }) => changedAt),
    )
    const asked = fc.record({
      filter: fc.oneof(fc.constant({}), leaves, fc.record({ where: selectors(leaves) })),
      order: fc.record({ field: fc.constantFrom(...resourceOrderFields), descending: fc.boolean() }),
      moment: fc.oneof(fc.constantFrom(...moments), fc.constantFrom(...moments.slice(-1))),
      size: fc.integer({ min: 1, max: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(asked, async ({ filter, order, moment, size }) => {
        const expected = moment.rows.filter((row) => matches(filter, row, context)).toSorted(comparator(order))
        const found: Row[] = []
        for (let after: string | null = null; ; ) {
          const request = { size, after, before: null, backward: false }
          const pages = await pageResources(session(), { of: 'fleet' }, filter, request, moment.revision, order)
          const page = pages.get(0)
          found.push(...(page?.edges.map(({ node: { asOf: _, ...row } }) => row) ?? []))
          after = page?.edges.at(-1)?.cursor ?? null
          if (!page?.hasNextPage) break
        }
        const shown = ({ key, name, sync, presence, readiness, reason }: Row) => [
          key,
          name,
          sync,
          presence,
          readiness,
          reason,
        ]
        expect(found.map(shown)).toEqual(expected.map(shown))
        const counts = (await countResources(session(), { of: 'fleet' }, filter, moment.revision)).get(0)
        expect(counts?.total).toBe(expected.length)
        for (const readiness of readinesses)
          expect(counts?.readiness[readiness]).toBe(expected.filter((row) => row.readiness === readiness).length)
      }),
      { numRuns: someOf(15, 100) },
    )
  })
})
