import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isCounted } from '../../../../src/domain/counters.ts'
import { convergences } from '../../../../src/domain/desired.ts'
import { type DeploymentState, deploymentStates, type Millis, type Revision } from '../../../../src/domain/values.ts'
import type { Database } from '../../../../src/store/database.ts'
import { withScope } from '../../../../src/store/read/access-scope.ts'
import { readLog } from '../../../../src/store/read/changes/changes.ts'
import { countConvergence, countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { arrivalsOverTime, convergenceOverTime, countOverTime } from '../../../../src/store/read/counts/series.ts'
import type { Scope } from '../../../../src/store/read/deployment-scope.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { sourceLimits } from '../../../../src/store/read/filters/source.ts'
import { resolvePast } from '../../../../src/store/read/past.ts'
import { writeCheckpoints } from '../../../../src/store/write/derived/checkpoints.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { deploymentIds, devices, foldAll, inSnapshot, type Life, live, watched } from '../history.ts'
import { readPlans } from '../plan.ts'

describe.each(stores)('series on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let life: Life
  let start: Revision

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    start = await inSnapshot(database, async ({ head }) => (await head).revision)
    life = await live(database, 5, 40)
    const rollouts = await database.session.run<{ key: number }>('select key from rollouts')
    for (const index of [8, 20, 21, 33])
      await writeCheckpoints(database, life.moments[index]?.revision ?? 0, [0, ...rollouts.map(({ key }) => key)])
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  const filters: fc.Arbitrary<DeploymentFilter> = fc.record(
    {
      states: fc.subarray([...deploymentStates]),
      convergence: fc.subarray([...convergences]),
      consistent: fc.boolean(),
      hasError: fc.boolean(),
      deploymentIds: fc.subarray([...deploymentIds], { minLength: 1 }),
      deviceIds: fc.subarray([...devices], { minLength: 1 }),
      rolloutKeys: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }),
    },
    { requiredKeys: [] },
  )

  it('are the counts at each moment, for any filter, parent and access scope', async () => {
    const rollouts = (await database.session.run<{ key: number }>('select key from rollouts')).map(({ key }) => key)
    const [oldest = 0, newest = 0] = [life.moments[0]?.at, life.moments.at(-1)?.at]
    const scopes: readonly Scope[] = [
      { of: 'fleet' },
      { of: 'rollout', keys: rollouts },
      { of: 'target', keys: [1, 2, 3] },
    ]
    const times = fc.array(fc.integer({ min: oldest, max: newest + 1_000 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(
        times,
        filters,
        fc.constantFrom(...scopes),
        fc.integer({ min: 0, max: 4 }),
        async (some, filter, scope, narrow) => {
          const moments = some.toSorted((a, b) => a - b)
          await inSnapshot(database, async (snapshot) => {
            const labels = [{ key: 'site', value: 'north' }]
            const session = withScope(snapshot, narrow === 0 ? { labels, projects: null } : null)
            // With no candidates, each state is read once.
            const limits = narrow === 1 ? sourceLimits : { ...sourceLimits, candidates: 0 }
            const series = await countOverTime(session, scope, filter, moments, limits)
            const revisions = [...series.values()][0]?.map(({ revision }) => revision) ?? []
            const converged = await convergenceOverTime(session, scope, filter, revisions, limits)
            for (const [index, moment] of moments.entries()) {
              const revision = await resolvePast(session, { asOf: moment, atRevision: null })
              const counts = await countDeployments(session, scope, filter, revision)
              const convergence = await countConvergence(session, scope, filter, revision)
              for (const [parent, points] of series) {
                expect(points[index]).toMatchObject({ at: moment, revision, counts: counts.get(parent) })
                expect(converged.get(parent)?.[index]).toEqual(convergence.get(parent))
              }
            }
          })
        },
      ),
      { numRuns: someOf(10, 25) },
    )
  })

  it('have the changes of each interval by the state that they lead to', async () => {
    const entries = await database.session.run<Entry>(
      `select deployment_key as key, first_revision as first, last_revision as last, at from change_log
       where deployment_key is not null and resource_key is null order by first_revision`,
    )
    const log = await readLog(database.session, start, 10_000)
    const arrivals: { readonly at: Millis; readonly state: DeploymentState; readonly rolloutKey: number }[] = []
    for (const { key, first, last, at } of entries) {
      const [before, after] = [foldAll(log, first - 1).get(key), foldAll(log, last).get(key)]
      // On another device a deployment begins with a first state.
      const from = before && isCounted(before) && before.targetKey === after?.targetKey ? before.state : null
      if (after && isCounted(after) && after.state !== from)
        arrivals.push({ at, state: after.state, rolloutKey: after.rolloutKey })
    }
    const moments = life.moments.filter((_, index) => index % 7 === 0).map(({ at }) => at)
    const rollouts = [...new Set(arrivals.map(({ rolloutKey }) => rolloutKey))]
    for (const scope of [{ of: 'fleet' }, { of: 'rollout', keys: rollouts }] satisfies Scope[]) {
      const series = await inSnapshot(database, async (snapshot) => {
        const [points = []] = [...(await countOverTime(snapshot, scope, {}, moments)).values()]
        return arrivalsOverTime(
          snapshot,
          scope,
          {},
          points.map(({ revision }) => revision),
        )
      })
      for (const [parent, known] of series) {
        expect(known[0]).toBeNull()
        for (const [index, entered] of known.entries()) {
          if (index === 0) continue
          const [after = 0, upTo = 0] = [moments[index - 1], moments[index]]
          const own = arrivals.filter(
            ({ at, rolloutKey }) => at > after && at <= upTo && (parent === 0 || rolloutKey === parent),
          )
          const counted = deploymentStates.map((state) => [
            state.toLowerCase(),
            own.filter((arrival) => arrival.state === state).length,
          ])
          expect(entered).toEqual(Object.fromEntries(counted))
        }
      }
    }
  })

  it('take as many statements for 60 moments and all rollouts as for one', async () => {
    const rollouts = (await database.session.run<{ key: number }>('select key from rollouts')).map(({ key }) => key)
    const [oldest = 0, newest = 0] = [life.moments[0]?.at, life.moments.at(-1)?.at]
    const moments = Array.from({ length: 60 }, (_, index) => oldest + ((newest - oldest) * index) / 59).map(Math.round)
    await inSnapshot(database, async (snapshot) => {
      const { session, statements } = watched(snapshot)
      await countOverTime(session, { of: 'rollout', keys: rollouts }, {}, moments)
      expect(statements.length).toBeLessThanOrEqual(5)
    })
  })

  it('read each state once where each moment would read all deployments', async () => {
    const limits = { ...sourceLimits, candidates: 0 }
    const moments = life.moments.map(({ at }) => at)
    for (const filter of [
      { consistent: true },
      { where: { not: { states: ['FAILED'] } } },
    ] satisfies DeploymentFilter[])
      await inSnapshot(database, async (snapshot) => {
        const { session, statements } = watched(snapshot)
        const points = (await countOverTime(session, { of: 'fleet' }, filter, moments, limits)).get(0) ?? []
        // One for each moment asks for the entry that spans it.
        expect([points.length, statements.length < moments.length + 10]).toEqual([moments.length, true])
        for (const { revision, counts } of points)
          expect(counts).toEqual((await countDeployments(snapshot, { of: 'fleet' }, filter, revision)).get(0))
      })
  })

  it('read an interval up to its first checkpoint only', async () => {
    const [low = 0, high = 0] = [7, 39].map((index) => life.moments[index]?.revision ?? 0)
    const [between] = await database.session.run<{ n: number }>(
      'select count(*)::int as n from change_log where first_revision > $1::bigint and first_revision <= $2::bigint',
      [low, high],
    )
    await database.session.run('analyze change_log, deployment_checkpoints')
    await inSnapshot(database, async (snapshot) => {
      // The tables are small, so that reading them whole would be right.
      await snapshot.run('set local enable_seqscan = off')
      const { session, rows } = readPlans(snapshot)
      await convergenceOverTime({ ...snapshot, ...session }, { of: 'fleet' }, {}, [low, high])
      expect(rows()).toBeLessThan((between?.n ?? 0) / 2)
    })
  })

  it('are refused where the history has expired', async () => {
    await inSnapshot(database, async (snapshot) => {
      const { tailAt } = await snapshot.head
      const asked = countOverTime(snapshot, { of: 'fleet' }, {}, [tailAt - 1, tailAt + 1])
      await expect(asked).rejects.toMatchObject({ code: 'HISTORY_EXPIRED' })
    })
  })
})

interface Entry {
  readonly key: number
  readonly first: Revision
  readonly last: Revision
  readonly at: Millis
}
