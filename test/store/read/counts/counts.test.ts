/** Counts of filters: from the search index alone, and by the range that a survey takes for the smallest. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Deployment } from '../../../../src/domain/deployment.ts'
import type { Database } from '../../../../src/store/database.ts'
import { step } from '../../../../src/store/projection.ts'
import { withScope } from '../../../../src/store/read/access-scope.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { countSearched } from '../../../../src/store/read/counts/searched-total.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { searchProjection } from '../../../../src/store/write/derived/search-entries.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { limits, type Question, whole } from '../deployments/questions.ts'
import { componentNames } from '../history.ts'
import { recordLife } from '../recorded-life.ts'
import { countsOf, matches, some } from '../reference.ts'

const fleet = { of: 'fleet' } as const
const terms = fc.record(
  {
    applications: some(['shop', 'Till%', 'nothing']),
    applicationVersions: some(['1.0', '1.1']),
    components: some([...componentNames, 'nothing', '"', '\0']),
  },
  { requiredKeys: [] },
)
const searched = fc.tuple(terms, terms).map(([a, b]): DeploymentFilter => ({ ...a, where: { and: [b] } }))

describe.each(stores)('counts of filters on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let questions: fc.Arbitrary<Question>
  let expected: (filter: DeploymentFilter) => readonly Deployment[]

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    const life = await recordLife(database)
    questions = life.questions
    expected = (filter) =>
      life.present.filter((deployment) => {
        const target = life.targets.get(deployment.targetKey)
        return deployment.forgottenAt === null && target !== undefined && matches(filter, deployment, target)
      })
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('are of all deployments that match, or refused, whichever range is taken for the smallest', async () => {
    const counts = { given: 0, refused: 0 }
    const tight = fc.record({
      small: fc.constant(0),
      candidates: fc.nat(30),
      walked: fc.constant(3),
      counted: fc.integer({ min: 1, max: 12 }),
      scanned: fc.constantFrom(0, 100_000),
    })
    await fc.assert(
      fc.asyncProperty(questions, tight, async ({ filter }, most) => {
        const found = await countDeployments(database.session, fleet, filter, null, most).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'BAD_USER_INPUT' })
          counts.refused += 1
        })
        if (!found) return
        counts.given += 1
        expect(found.get(0)).toEqual(countsOf([...expected(filter)]))
      }),
      { numRuns: someOf(50, 400) },
    )
    for (const number of Object.values(counts)) expect(number).toBeGreaterThan(0)
  })

  it('take another range, or refuse, where targets have more deployments than those that were looked at', async () => {
    const { session } = database
    await session.run(`insert into targets (created_revision, key, kind, name, connectivity)
      select 1, 900000 + i, 'CLUSTER', 'far-' || i, 'OFFLINE' from generate_series(1, 9) i`)
    await session.run(`insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at, changed_at, revision, marks)
      select 900000 + i, 'far-' || i, 'far', 900009, 900000, 'PENDING', i > 2, '[]', true, 1, now(), now(), 900000000 + i, '{}' from generate_series(1, 50) i`)
    const most = { small: 0, candidates: 20, walked: 3, counted: 10, scanned: 0 }
    const far = { clusters: ['+far-1', '+far-2', '+far-3', '+far-9'] }
    try {
      await expect(countDeployments(session, fleet, far, null, most)).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
      const filter: DeploymentFilter = { ...far, deploymentIds: Array.from({ length: 8 }, (_, i) => `far-${i + 1}`) }
      const counts = await countDeployments(session, fleet, filter, null, most)
      expect(counts.get(0)).toMatchObject({ pending: 8, installed: 0 })
    } finally {
      await session.run('delete from deployments where key > 900000')
      await session.run('delete from targets where key > 900000')
    }
  })

  it('are read from the search index alone, but for deployments that have changed since', async () => {
    const { session } = database
    const compare = async (): Promise<void> => {
      for (const filter of fc.sample(searched, { numRuns: 40, seed: 1 })) {
        const isAsked = Object.keys({ ...filter, ...filter.where?.and?.[0] }).some((field) => field !== 'where')
        const total = isAsked ? expected(filter).length : null
        expect({ filter, n: await countSearched(session, 'fleet', filter) }).toEqual({ filter, n: total })
      }
    }
    await compare()
    while (await step(database, searchProjection, 100)) await compare()
    // Too many entries, and too many deployments to compare.
    expect(await countSearched(session, 'fleet', { components: ['api'] }, whole.limits, 1)).toBeNull()
    await expect(
      countSearched(session, 'fleet', { components: ['api'] }, { ...whole.limits, counted: 1 }, 1),
    ).rejects.toThrow('may match more than 1 deployments, too many to count')
    await session.run("update duties set cursor = 0 where name = 'search'")
    expect(
      await countSearched(session, 'fleet', { components: ['api'] }, { ...whole.limits, candidates: 2 }),
    ).toBeNull()
  })

  it('look at deployments for all other conditions, parents and readers', async () => {
    const { session } = database
    const shop: DeploymentFilter = { applications: ['shop'] }
    for (const filter of [{}, { ...shop, states: [] }, { where: { or: [shop] } }, { where: { not: shop } }] as const)
      expect([filter, await countSearched(session, 'fleet', filter)]).toEqual([filter, null])
    expect(await countSearched(session, 'rollout', shop)).toBeNull()
    const northern = withScope(session, { labels: [{ key: 'site', value: 'north' }], projects: null })
    expect(await countSearched(northern, 'fleet', shop)).toBeNull()
  })

  it('find components by their names, and not by what messages say', async () => {
    const { session } = database
    const error = { code: 'E', message: '"name":"ghost" and "name" : "ghost"' }
    const components = JSON.stringify([{ name: 'a "name":"ghost"', error }, { name: 'host' }, { name: 'Ghost' }])
    await session.run(
      `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at, changed_at, revision, marks)
      select 900000 + i, 'g-' || i, 'g', i, 900000, 'PENDING', true, case i when 1 then $1 when 2 then '[{"name" : "ghost"}]' else '[{"state":"FAILED","name":  "ghost"}]' end::json, true, 1, now(), now(), 900000000 + i, '{}' from generate_series(1, 3) i`,
      [components],
    )
    for (const [name, n] of [
      ['ghost', 2],
      ['host', 1],
      ['a "name":"ghost"', 1],
      ['"ghost"', 0],
    ] as const) {
      const counts = await countDeployments(session, fleet, { components: [name] }, null)
      expect([name, counts.get(0)?.pending]).toEqual([name, n])
    }
    await session.run('delete from deployments where key > 900000')
  })

  it('leave out deployments of instances that are not the current ones', async () => {
    const { session } = database
    const before = (await countSearched(session, 'fleet', { components: ['core'] })) ?? 0
    await session.run(`insert into deployments (key, deployment_id, reporter, target_key, rollout_key, instance_key, is_current, state, consistent, components, claimed, attempt, received_at, changed_at, revision, marks)
      select 900000 + i, 'c-' || i, 'o', i, 900000, 900000 + i % 2, i % 2 = 0, 'PENDING', true, '[{"name":"core"}]', true, 1, now(), now(), 1, '{}' from generate_series(1, 5) i`)
    await session.run(
      `insert into deployment_search (deployment_key, terms, text) select key, '{c:core}', '' from deployments where key > 900000`,
    )
    expect(await countSearched(session, 'fleet', { components: ['core'] })).toBe(before + 2)
    for (const one of limits) {
      const counts = await countDeployments(session, fleet, { components: ['core'] }, null, one)
      expect(counts.get(0)?.pending).toBe(before + 2)
    }
  })
})
