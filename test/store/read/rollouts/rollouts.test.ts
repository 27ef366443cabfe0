import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Revision } from '../../../../src/domain/values.ts'
import { declareDeployments } from '../../../../src/ingest/commands/declare.ts'
import { forgetDeployments } from '../../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../../src/ingest/commands/report.ts'
import type { Database } from '../../../../src/store/database.ts'
import { withScope } from '../../../../src/store/read/access-scope.ts'
import {
  convergenceCountsOf,
  countConvergence,
  countDeployments,
  stateCountsOf,
} from '../../../../src/store/read/counts/deployment-counts.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { RolloutFilter } from '../../../../src/store/read/rollouts/rollout-filter.ts'
import {
  countRollouts,
  pageRollouts,
  type RolloutRow,
  rolloutByKeyArgs,
  rolloutsByKey,
} from '../../../../src/store/read/rollouts/rollouts.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { inSnapshot, liveBy, pickerOf, randomReport } from '../history.ts'

const firstPage = { size: 100, after: null, before: null, backward: false }

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
