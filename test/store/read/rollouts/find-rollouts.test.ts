/** Selectors of rollouts find what a reference says, now and in the past. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Deployment } from '../../../../src/domain/deployment.ts'
import { matchesLabel } from '../../../../src/domain/selectors/label-condition.ts'
import { matchesSelector } from '../../../../src/domain/selectors/selector.ts'
import type { Target } from '../../../../src/domain/target.ts'
import type { Millis } from '../../../../src/domain/values.ts'
import { rolloutOrderFields } from '../../../../src/store/read/orders/rollout-order.ts'
import type { RolloutCondition, RolloutFilter } from '../../../../src/store/read/rollouts/rollout-filter.ts'
import {
  countRollouts,
  pageRollouts,
  type RolloutRow,
  rolloutsByKey,
} from '../../../../src/store/read/rollouts/rollouts.ts'
import { type TargetRecord, toTarget } from '../../../../src/store/sql/rows.ts'
import { stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { devices, live } from '../history.ts'
import { labelConditions, selectors, some, valuesOf } from '../reference.ts'

const firstPage = { size: 100, after: null, before: null, backward: false }

/** Everything that the conditions on a rollout look at. */
interface Known {
  readonly rollout: RolloutRow
  readonly deployments: readonly { readonly deployment: Deployment; readonly target: Target }[]
}

function matchesRollout({ where, ...leaf }: RolloutFilter, known: Known): boolean {
  const { rollout, deployments } = known
  const { life } = rollout
  const any = <T>(wanted: readonly T[] | undefined, value: T | null): boolean =>
    wanted === undefined || (value !== null && wanted.includes(value))
  const runsOn = (condition: (target: Target) => boolean): boolean =>
    deployments.some(({ target }) => condition(target))
  const { deviceIds, clusters, labels, label, failing, text } = leaf
  const isFailing = deployments.some(({ deployment }) => deployment.state === 'FAILED')
  const within = (time: number | null | undefined, after: number | undefined, before: number | undefined): boolean =>
    (after === undefined || (time ?? -1) > after) &&
    (before === undefined || (typeof time === 'number' && time < before))
  return (
    any(leaf.keys, rollout.key) &&
    any(leaf.kinds, rollout.kind) &&
    any(leaf.projects, rollout.project) &&
    any(leaf.names, rollout.name) &&
    any(leaf.compositeApps, rollout.compositeApp) &&
    any(leaf.states, rollout.state) &&
    any(leaf.statuses, rollout.status) &&
    (!deviceIds || runsOn(({ name }) => deviceIds.includes(name))) &&
    !clusters &&
    (!labels || runsOn((target) => labels.some(({ key, value }) => valuesOf(target, key).includes(value)))) &&
    (!label || runsOn((target) => matchesLabel(label, valuesOf(target, label.key)))) &&
    (failing === undefined || failing === isFailing) &&
    (text === undefined ||
      [rollout.name, rollout.project].some((value) => value?.toLowerCase().includes(text.toLowerCase()))) &&
    within(life.created.at, leaf.createdAfter, leaf.createdBefore) &&
    within(life.started?.at, leaf.startedAfter, leaf.startedBefore) &&
    within(life.changed?.at, leaf.changedAfter, leaf.changedBefore) &&
    within(life.finished?.at, leaf.finishedAfter, leaf.finishedBefore) &&
    (where === undefined || matchesSelector(where, (part) => matchesRollout(part, known)))
  )
}

const time = (times: readonly Millis[]) => fc.constantFrom(...times)
const conditionsOf = (keys: readonly number[], times: readonly Millis[]): fc.Arbitrary<RolloutCondition> =>
  fc.record(
    {
      keys: some(keys),
      kinds: some(['DECLARED', 'MARGO_DEPLOYMENT'] as const),
      projects: some(['plant', 'x', '\0']),
      names: some(['spring', 'web', 'unknown']),
      compositeApps: some(['app']),
      states: some(['CREATED'] as const),
      statuses: some(['CREATED'] as const),
      deviceIds: some([...devices, 'unknown']),
      clusters: some(['p+c']),
      labels: some([
        { key: 'site', value: 'north' },
        { key: 'line', value: '1' },
      ]),
      label: labelConditions,
      failing: fc.boolean(),
      text: fc.constantFrom('', 'W', 'PLANT', '%', '\0'),
      createdAfter: time(times),
      createdBefore: time(times),
      startedAfter: time(times),
      startedBefore: time(times),
      changedAfter: time(times),
      changedBefore: time(times),
      finishedAfter: time(times),
      finishedBefore: time(times),
    },
    { requiredKeys: [] },
  )

describe.each(stores)('selectors of rollouts on $name', (store) => {
  it('find what the reference says, in every order, and count it', async () => {
    const empty = await store.create()
    const database = await empty.open()
    const { moments } = await live(database, 34, 40)
    const all = (await pageRollouts(database.session, {}, firstPage)).edges.map(({ node }) => node)
    const targets = (await database.session.run<TargetRecord>('select * from targets')).map(toTarget)
    const now = (moments.at(-1)?.deployments ?? []).filter(({ forgottenAt, isCurrent }) => !forgottenAt && isCurrent)
    const known = all.map((rollout) => ({
      rollout,
      deployments: now.flatMap((deployment) => {
        const target = targets.find(({ key }) => key === deployment.targetKey)
        return deployment.rolloutKey === rollout.key && target ? [{ deployment, target }] : []
      }),
    }))
    const leaves = conditionsOf(
      all.map(({ key }) => key),
      moments.map(({ at }) => at),
    )
    const orders = fc.record({ field: fc.constantFrom(...rolloutOrderFields), descending: fc.boolean() })
    const filters = fc.oneof(leaves, fc.record({ where: selectors(leaves) }))
    await fc.assert(
      fc.asyncProperty(filters, orders, fc.integer({ min: 1, max: 4 }), async (filter, order, size) => {
        const expected = known.filter((one) => matchesRollout(filter, one)).map(({ rollout }) => rollout.key)
        expect(await countRollouts(database.session, filter)).toBe(expected.length)
        const found: number[] = []
        for (let after: string | null = null; ; ) {
          const page = await pageRollouts(
            database.session,
            filter,
            { size, after, before: null, backward: false },
            order,
          )
          found.push(...page.edges.map(({ node }) => node.key))
          after = page.edges.at(-1)?.cursor ?? null
          if (!page.hasNextPage) break
        }
        expect(found.toSorted((a, b) => b - a)).toEqual(expected)
      }),
      { numRuns: someOf(20, 60) },
    )
    await database.close()
    await empty.drop()
  })

  it('find what the reference says as of any revision, and refuse what has no past', async () => {
    const empty = await store.create()
    const database = await empty.open()
    const { moments } = await live(database, 35, 40)
    const keys = (await database.session.run<{ key: number }>('select key from rollouts')).map(({ key }) => Number(key))
    const targets = (await database.session.run<TargetRecord>('select * from targets')).map(toTarget)
    const knownAt = async ({ revision, deployments }: (typeof moments)[number]): Promise<Known[]> => {
      const rows = await rolloutsByKey(database.session, keys, revision)
      const then = deployments.filter(({ forgottenAt, isCurrent }) => !forgottenAt && isCurrent)
      return [...rows.values()].map((rollout) => ({
        rollout,
        deployments: then.flatMap((deployment) => {
          const target = targets.find(({ key }) => key === deployment.targetKey)
          return deployment.rolloutKey === rollout.key && target ? [{ deployment, target }] : []
        }),
      }))
    }
    const leaves = conditionsOf(
      keys,
      moments.map(({ at }) => at),
    ).map((leaf) => Object.fromEntries(Object.entries(leaf).filter(([field]) => !withoutPast.has(field))))
    const filters = fc.oneof(leaves, fc.record({ where: selectors(leaves) }))
    const orders = fc.record({ field: fc.constantFrom('CREATED', 'NAME'), descending: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...moments), filters, orders, async (moment, filter, order) => {
        const { revision } = moment
        const expected = (await knownAt(moment)).filter(
          (one) =>
            (one.rollout.kind !== 'MARGO_DEPLOYMENT' || one.deployments.length > 0) && matchesRollout(filter, one),
        )
        const { edges } = await pageRollouts(database.session, filter, firstPage, order, revision)
        const found = edges.map(({ node }) => node)
        expect(await countRollouts(database.session, filter, revision)).toBe(expected.length)
        const newest = (a: RolloutRow, b: RolloutRow): number => b.key - a.key
        expect(found.toSorted(newest)).toEqual(expected.map(({ rollout }) => rollout).toSorted(newest))
        const places = found.map(({ key, name }) => (order.field === 'NAME' ? name : key))
        const inOrder = places.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
        expect(places).toEqual(order.descending ? inOrder.reverse() : inOrder)
        const [first] = edges
        if (!first) return
        const rest = await pageRollouts(
          database.session,
          filter,
          { ...firstPage, after: first.cursor },
          order,
          revision,
        )
        expect(rest.edges.map(({ node }) => node.key)).toEqual(found.slice(1).map(({ key }) => key))
      }),
      { numRuns: someOf(20, 60) },
    )
    const revision = moments[5]?.revision ?? 0
    const order = { field: 'FINISHED', descending: true } as const
    await expect(pageRollouts(database.session, {}, firstPage, order, revision)).rejects.toThrow(
      'only by CREATED or NAME',
    )
    const filter = { where: { not: { changedBefore: 0 } } }
    await expect(countRollouts(database.session, filter, revision)).rejects.toThrow('filter.changedBefore selects only')
    await database.close()
    await empty.drop()
  })
})

const withoutPast = new Set([
  ...['states', 'statuses', 'startedAfter', 'startedBefore', 'changedAfter', 'changedBefore'],
  ...['finishedAfter', 'finishedBefore'],
])
