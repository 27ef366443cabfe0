/** Lists of thousands of values in a fleet whose lists are read by indexes: they find what short ones find, and no plan compares each row with each value. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database, Session } from '../../../../src/store/database.ts'
import { step } from '../../../../src/store/projection.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import type { SourceLimits } from '../../../../src/store/read/filters/source.ts'
import { isAnyOf } from '../../../../src/store/sql/parameters.ts'
import { searchProjection } from '../../../../src/store/write/derived/search-entries.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { readPlans } from '../plan.ts'

const size = 400
const fleet = { of: 'fleet' } as const
const limits: SourceLimits = { small: 0, candidates: 100, walked: size, counted: size, scanned: 0 }
const first = { size: 100, after: null, before: null, backward: false }
const none = Array.from({ length: 1_000 }, (_, i) => `none ${i}`)

/** Deployment i has the parts `part-<i % 40>` and `part-<i % 25>`. */
const filters: readonly [string, DeploymentFilter][] = [
  ['applications', { applications: ['app-7', 'app-8'] }],
  ['versions', { applicationVersions: ['3'] }],
  ['components', { components: ['part-3', 'part-4'] }],
  ['components that deployments have together', { components: ['part-3', 'part-28', 'part-24', 'part-9'] }],
  ['two lists', { applications: ['app-3', 'app-4', 'app-5'], components: ['part-3', 'part-4'] }],
]

describe.each(stores)('long lists on $name', (store) => {
  let empty: EmptyStore
  let database: Database

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await database.transaction(fill)
    // The last ones have changed since they were indexed.
    while (await step(database, searchProjection, size - 20));
    await database.session.run('analyze')
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it.each(filters)('of %s find what short ones find', async (_, filter) => {
    const wanted = await keysOf(filter)
    expect(wanted.length).toBeGreaterThan(0)
    expect(wanted.length).toBeLessThan(limits.candidates)
    const long = Object.entries(filter).map(([field, values]) => [field, [...none, ...(values as string[])]] as const)
    const all = Object.fromEntries(long)
    const oneLong = Object.fromEntries([...Object.entries(filter), long[0] ?? []])
    for (const some of [all, oneLong, { where: { and: [all] } }, { where: { or: [all] } }]) {
      expect(await keysOf(some)).toEqual(wanted)
      const counts = await countDeployments(database.session, fleet, some, null, limits)
      expect(counts.get(0)?.installed).toBe(wanted.length)
    }
  })

  it('of rollouts without deployments read none, though each of the others has many', async () => {
    const keys = none.map((_, i) => size + i)
    const plans = readPlans(database.session)
    const pages = await pageDeployments(plans.session, fleet, { rolloutKeys: keys }, 'NAME', first, null, limits)
    expect(pages.get(0)?.edges).toEqual([])
    expect(plans.rows()).toBeLessThan(10 * keys.length)
  })

  it('are no parameters of a kept plan, which would compare each row with each value', async () => {
    const snapshot = await database.snapshot()
    try {
      for (const [n, isKept] of [
        [3, true],
        [1_000, false],
      ] as const) {
        const name = `with ${n} values`
        const isListed = isAnyOf(sql`deployment_id`, none.slice(0, n), 'text')
        await snapshot.rows(sql`select key as ${sql.identifier(name)} from deployments where not ${isListed}`)
        const kept = await snapshot.rows(
          sql`select name from pg_prepared_statements where strpos(statement, ${name}) > 0`,
        )
        expect(kept).toHaveLength(isKept ? 1 : 0)
      }
    } finally {
      await snapshot.close()
    }
  })

  async function keysOf(filter: DeploymentFilter): Promise<number[]> {
    const pages = await pageDeployments(database.session, fleet, filter, 'NAME', first, null, limits)
    return pages.get(0)?.edges.map(({ node }) => node.key) ?? []
  }
})

async function fill(session: Session): Promise<void> {
  await session.rows(
    sql`insert into targets (created_revision, key, kind, name) select 1, i, 'DEVICE', 'device-' || i from generate_series(1, ${size}) i`,
  )
  await session.rows(sql`insert into deployments (key, deployment_id, reporter, target_key, rollout_key, application, application_version, state, consistent,
      components, claimed, attempt, received_at, changed_at, revision, marks)
    select i, 'dep-' || i, 'device-' || i, i, 1 + i % 2, 'app-' || i % 30, (i % 10)::text, 'INSTALLED', true,
      json_build_array(json_build_object('name', 'part-' || i % 40, 'state', 'INSTALLED'), json_build_object('name', 'part-' || i % 25, 'state', 'INSTALLED')),
      true, 1, now(), now(), log_head.revision + i, '{}' from log_head, generate_series(1, ${size}) i`)
  await session.rows(sql`update log_head set revision = revision + ${size}, installed = ${size}`)
}
