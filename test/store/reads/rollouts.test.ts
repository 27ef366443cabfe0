import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Deployment } from '../../../src/domain/deployment.ts'
import { matchesLabel } from '../../../src/domain/selectors/label-condition.ts'
import { matchesSelector } from '../../../src/domain/selectors/selector.ts'
import type { Target } from '../../../src/domain/target.ts'
import type { Millis, Revision } from '../../../src/domain/values.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import type { Database } from '../../../src/store/database.ts'
import { withScope } from '../../../src/store/read/access-scope.ts'
import {
  convergenceCountsOf,
  countConvergence,
  countDeployments,
  pageDeployments,
  stateCountsOf,
} from '../../../src/store/read/deployments.ts'
import type { RolloutCondition, RolloutFilter } from '../../../src/store/read/rollouts/rollout-filter.ts'
import { rolloutOrderFields } from '../../../src/store/read/rollouts/rollout-order.ts'
import {
  countRollouts,
  pageRollouts,
  type RolloutRow,
  rolloutByKeyArgs,
  rolloutsByKey,
} from '../../../src/store/read/rollouts/rollouts.ts'
import { type TargetRecord, toTarget } from '../../../src/store/sql/rows.ts'
import { type EmptyStore, stores } from '../../support/stores.ts'
import { devices, inSnapshot, live, liveBy, pickerOf, randomReport } from './history.ts'
import { labelConditions, selectors, some, valuesOf } from './reference.ts'

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
      names: some(['spring', 'web', 'nobody']),
      compositeApps: some(['app']),
      states: some(['CREATED'] as const),
      statuses: some(['CREATED'] as const),
      deviceIds: some([...devices, 'nobody']),
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
      { numRuns: 60 },
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
      { numRuns: 60 },
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

const named = { project: null, compositeApp: null, compositeAppVersion: null, provider: null }

describe.each(stores)('rollouts on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let start: Revision
  let forgotten: Revision

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    start = await head()
    const { submit, tick } = liveBy(database)
    const report = (reporter: string, deploymentId: string) => {
      tick(1_000)
      return submit(
        recordReport({ ...randomReport(pickerOf(1)), reporter, deviceId: null, deploymentId, state: 'INSTALLED' }),
      )
    }
    const declare = (name: string, project: string | null, deploymentId: string) =>
      submit(
        declareDeployments({ name, project }, [
          { deviceId: 'alpha', deploymentId, application: 'shop', applicationVersion: null, components: null },
        ]),
      )
    await report('alpha', 'web')
    await report('beta', 'web')
    await report('alpha', 'db')
    await report('alpha', 'moved')
    await declare('spring', null, 'moved')
    await declare('Summer_1', 'plant', 'new')
    await declare('web', null, 'other')
    const pages = await pageDeployments(
      database.session,
      { of: 'fleet' },
      { deploymentIds: ['db'] },
      'NAME',
      firstPage,
      null,
    )
    await submit(forgetDeployments(pages.get(0)?.edges.map(({ node }) => node.key) ?? []))
    forgotten = await head()
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('are listed while they have a deployment or were declared, newest first', async () => {
    expect(await namesOf({})).toEqual(['web', 'Summer_1', 'spring', 'web'])
    expect(await countRollouts(database.session, {})).toBe(4)
    const walked: string[] = []
    for (let after: string | null = null; ; ) {
      const page = await pageRollouts(database.session, {}, { size: 1, after, before: null, backward: false })
      walked.push(...page.edges.map(({ node }) => node.name))
      after = page.edges.at(-1)?.cursor ?? null
      if (!page.hasNextPage) break
    }
    expect(walked).toEqual(['web', 'Summer_1', 'spring', 'web'])
  })

  it('are filtered by each field', async () => {
    const cases: [RolloutFilter, string[]][] = [
      [{ kinds: ['DECLARED'] }, ['web', 'Summer_1', 'spring']],
      [{ kinds: ['MARGO_DEPLOYMENT'] }, ['web']],
      [{ kinds: [] }, []],
      [{ projects: ['plant', 'x'] }, ['Summer_1']],
      [{ names: ['web', 'spring', 'db'] }, ['web', 'spring', 'web']],
      [{ text: 'SUMMER_' }, ['Summer_1']],
      [{ text: 'PLANT' }, ['Summer_1']],
      [{ text: '%' }, []],
      [{ states: ['INSTANTIATED'] }, []],
      [{ statuses: [] }, []],
    ]
    for (const [filter, names] of cases) {
      expect({ filter, names: await namesOf(filter) }).toEqual({ filter, names })
      expect(await countRollouts(database.session, filter)).toBe(names.length)
    }
  })

  it('are found by exactly their name, a declared one first', async () => {
    const found = (name: string, project: string | null, asOf: Revision | null) =>
      rolloutByKeyArgs(database.session, { ...named, name, project }, asOf)
    expect(await found('web', null, null)).toMatchObject({ kind: 'DECLARED', asOf: null })
    expect(await found('web', null, start + 1)).toMatchObject({ kind: 'MARGO_DEPLOYMENT', asOf: start + 1 })
    expect(await found('Summer_1', 'plant', null)).toMatchObject({ kind: 'DECLARED' })
    expect(await found('Summer_1', null, null)).toBeNull()
    expect(await found('db', null, null)).toMatchObject({ kind: 'MARGO_DEPLOYMENT' })
    expect(await found('web', null, start)).toBeNull()
  })

  it('exist in the past from the revision of their first deployment on', async () => {
    for (let revision = start + 1; revision <= forgotten; revision += 1) {
      const pages = await pageDeployments(database.session, { of: 'fleet' }, {}, 'NAME', firstPage, revision)
      const keys = pages.get(0)?.edges.map(({ node }) => node.rolloutKey) ?? []
      const rollouts = await rolloutsByKey(database.session, keys, revision)
      expect([...rollouts.keys()].sort()).toEqual([...new Set(keys)].sort())
      for (const rollout of rollouts.values()) expect(rollout.asOf).toBe(revision)
    }
  })

  it('have counters that answer without a look at the deployments', async () => {
    const [spring] = await listed({ names: ['spring'] })
    const keys = [spring?.key ?? 0, 999_999]
    const counts = await countDeployments(database.session, { of: 'rollout', keys }, { states: ['INSTALLED'] }, null)
    expect(counts.get(spring?.key ?? 0)).toMatchObject({ installed: 1, pending: 0 })
    expect(counts.get(999_999)).toMatchObject({ installed: 0 })
  })

  it('carry their counters, which say what counting says, where their reader sees all of the present', async () => {
    const rows = await listed({})
    const keys = rows.map(({ key }) => key)
    const [states, convergence] = await Promise.all(
      [countDeployments, countConvergence].map((count) => count(database.session, { of: 'rollout', keys }, {}, null)),
    )
    for (const { key, counters } of rows) {
      const told = counters && { states: stateCountsOf(counters), convergence: convergenceCountsOf(counters) }
      expect(told).toEqual({ states: states?.get(key), convergence: convergence?.get(key) })
    }
    expect(rows.some(({ counters }) => counters?.pending === 1)).toBe(true)
    for (const past of (await rolloutsByKey(database.session, keys, forgotten)).values())
      expect(past.counters).toBeNull()
    const ofPlant = withScope(database.session, { labels: null, projects: ['plant'] })
    const [seen] = (await pageRollouts(ofPlant, {}, firstPage)).edges
    expect(seen?.node).toMatchObject({ name: 'Summer_1', counters: null })
  })

  async function listed(filter: RolloutFilter): Promise<RolloutRow[]> {
    return (await pageRollouts(database.session, filter, firstPage)).edges.map(({ node }) => node)
  }

  async function namesOf(filter: RolloutFilter): Promise<string[]> {
    return (await listed(filter)).map(({ name }) => name)
  }

  const head = (): Promise<Revision> => inSnapshot(database, async (snapshot) => (await snapshot.head).revision)
})
