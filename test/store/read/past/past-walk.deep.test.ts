/** Lists and counts of a fleet's past in which more deployments have changed since than are looked up one by one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Revision } from '../../../../src/domain/values.ts'
import type { Database, Session } from '../../../../src/store/database.ts'
import { withScope } from '../../../../src/store/read/access-scope.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import type { Scope } from '../../../../src/store/read/deployment-scope.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { sourceLimits } from '../../../../src/store/read/filters/source.ts'
import { pageGroups } from '../../../../src/store/read/groups/groups.ts'
import { type DeploymentOrder, orders } from '../../../../src/store/read/orders/deployment-order.ts'
import { writeCursor } from '../../../../src/store/sql/cursor.ts'
import type { PageRequest } from '../../../../src/store/sql/order.ts'
import { stores } from '../../../support/databases/stores.ts'
import { buffersOf, openLongLog } from '../long-log.ts'

const size = 20_000
const spring = size + 1

const first: PageRequest = { size: 20, after: null, before: null, backward: false }

describe.each(stores)('lists in the past on $name', (store) => {
  let database: Database
  let base: Revision
  let close = async (): Promise<void> => {}
  beforeAll(async () => {
    ;({ database, base, close } = await openLongLog(store, size))
  })
  afterAll(() => close())

  it('read only what the page passes, or all states that held then', async () => {
    const at = base + size + 100
    const limits = { ...sourceLimits, candidates: 5_000, walked: 2_000, counted: 8_000, scanned: 0 }
    const keysFrom = (first: number, step: number) => Array.from({ length: 20 }, (_, n) => first + n * step)
    const byName = Array.from({ length: size }, (_, n) => n + 1).toSorted((a, b) => (`d${a}` < `d${b}` ? -1 : 1))
    const placed = (revision: number) =>
      writeCursor(orders.CHANGED_DESC, { key: 0, deploymentId: '', state: 'PENDING', revision })
    const rollout = { of: 'rollout', keys: [spring] } as const
    const fleet = { of: 'fleet' } as const
    const cases: readonly (readonly [Scope, DeploymentFilter, DeploymentOrder, PageRequest, number[]])[] = [
      [fleet, {}, 'CHANGED_DESC', first, keysFrom(100, -1)],
      [
        fleet,
        {},
        'CHANGED_DESC',
        { ...first, after: placed(base + size + 10) },
        [...keysFrom(9, -1).slice(0, 9), ...keysFrom(size, -1).slice(0, 11)],
      ],
      [fleet, {}, 'CHANGED_DESC', { ...first, backward: true }, keysFrom(120, -1)],
      [fleet, {}, 'CHANGED_ASC', first, keysFrom(101, 1)],
      [fleet, { states: ['PENDING'] }, 'CHANGED_DESC', first, keysFrom(size, -1)],
      [fleet, { states: ['INSTALLED'] }, 'CHANGED_DESC', first, keysFrom(100, -1)],
      [fleet, {}, 'NAME', first, byName.slice(0, 20)],
      [fleet, { consistent: true }, 'NAME_DESC', first, byName.toReversed().slice(0, 20)],
      [rollout, {}, 'CHANGED_DESC', first, keysFrom(100, -2)],
      [rollout, {}, 'CHANGED_ASC', first, keysFrom(102, 2)],
      [
        fleet,
        { rolloutKeys: [spring] },
        'CHANGED_DESC',
        { ...first, after: placed(base + size + 2) },
        keysFrom(size, -2),
      ],
      [fleet, {}, 'STATE', first, keysFrom(size, -1)],
      [fleet, {}, 'STATE_DESC', first, keysFrom(100, -1)],
      [fleet, {}, 'STATE', { ...first, backward: true }, keysFrom(20, -1)],
      [rollout, { states: ['PENDING', 'INSTALLED'] }, 'STATE', first, keysFrom(size, -2)],
      [rollout, {}, 'STATE_DESC', first, keysFrom(100, -2)],
      // Nothing matches, and there is no order of the past of a rollout by name.
      [fleet, { consistent: false }, 'CHANGED_DESC', first, []],
      [fleet, { consistent: false }, 'STATE', first, []],
      [rollout, {}, 'NAME', first, byName.filter((key) => key % 2 === 0).slice(0, 20)],
    ]
    for (const [scope, filter, order, page, expected] of cases) {
      const { answer, buffers } = await buffersOf(database, (s) =>
        pageDeployments(s, scope, filter, order, page, at, limits),
      )
      const keys = [...answer.values()][0]?.edges.map(({ node }) => node.key)
      expect([filter, order, page, keys]).toEqual([filter, order, page, expected])
      // To look up all that have changed since takes 120,000 and more.
      expect([filter, order, page, buffers < 40_000, buffers]).toEqual([filter, order, page, true, buffers])
    }
    // Changed rows fill a page that lacks unchanged ones: those that match come after more unchanged rows than are walked.
    const matching: DeploymentFilter = {
      where: { not: { deploymentIds: Array.from({ length: 60 }, (_, n) => `d${41 + n}`) } },
    }
    for (const walked of [400, 40]) {
      const pages = await pageDeployments(
        database.session,
        fleet,
        matching,
        'CHANGED_DESC',
        { ...first, size: 3 },
        at,
        { ...limits, walked },
      )
      expect(pages.get(0)?.edges.map(({ node }) => node.key)).toEqual([40, 39, 38])
    }
  })

  it('scan the states that have ended since, and look up only the rows of the page', { timeout: 120_000 }, async () => {
    const at = base + size + 100
    const fleet = { of: 'fleet' } as const
    // More than may be looked up one by one. No index has any of these.
    const filters: readonly (readonly [filter: DeploymentFilter, keys: readonly number[], count: number])[] = [
      [{ consistent: true }, Array.from({ length: 20 }, (_, n) => 100 - n), size],
      [{ components: ['api'] }, [], 0],
      [{ where: { not: { states: ['INSTALLED'] } } }, Array.from({ length: 20 }, (_, n) => size - n), size - 100],
    ]
    for (const [filter, keys, count] of filters) {
      const list = await buffersOf(database, (s) => pageDeployments(s, fleet, filter, 'CHANGED_DESC', first, at))
      expect([filter, list.answer.get(0)?.edges.map(({ node }) => node.key)]).toEqual([filter, keys])
      const counts = await buffersOf(database, (s) => countDeployments(s, fleet, filter, at))
      expect(Object.values(counts.answer.get(0) ?? {}).reduce((sum, n) => sum + n, 0)).toBe(count)
      // To look each of them up takes 300,000.
      expect([filter, list.buffers < 10_000, list.buffers]).toEqual([filter, true, list.buffers])
      expect([filter, counts.buffers < 5_000, counts.buffers]).toEqual([filter, true, counts.buffers])
    }
  })

  it('keep their order for a restricted reader, whichever join the planner prefers', async () => {
    await database.session.run(
      `update targets set labels = '[{"key": "ring", "value": "wide"}]' where key <= ${size / 2}`,
    )
    const limits = { ...sourceLimits, candidates: 5_000, counted: 8_000, scanned: 0 }
    const at = base + size + 100
    const seen = Array.from({ length: size / 2 }, (_, n) => n + 1)
    const byName = seen.toSorted((a, b) => (`d${a}` < `d${b}` ? -1 : 1))
    const snapshot = await database.snapshot()
    try {
      // A merge join sorts the rows by their targets.
      for (const join of ['nestloop', 'hashjoin']) await snapshot.run(`set local enable_${join} = off`)
      const reader = withScope(snapshot, { labels: [{ key: 'ring', value: 'wide' }], projects: null })
      for (const [order, expected] of [
        ['NAME', byName],
        ['NAME_DESC', byName.toReversed()],
        ['CHANGED_DESC', seen.slice(0, 100).toReversed()],
        ['CHANGED_ASC', seen.slice(100)],
      ] as const) {
        const pages = await pageDeployments(reader, { of: 'fleet' }, {}, order, first, at, limits)
        expect([order, pages.get(0)?.edges.map(({ node }) => node.key)]).toEqual([order, expected.slice(0, 20)])
      }
    } finally {
      await snapshot.close()
    }
  })

  it('count and group whatever has changed since', async () => {
    await database.session.run(`update targets set labels = '[{"key": "site", "value": "north"}]' where key > 19990`)
    const limits = { ...sourceLimits, candidates: 100, counted: 100, scanned: 0 }
    const at = base + size + 100
    const fleet = { of: 'fleet' } as const
    const count = async (session: Session, filter: DeploymentFilter): Promise<number> => {
      const counts = await countDeployments(session, fleet, filter, at, limits)
      return Object.values(counts.get(0) ?? {}).reduce((sum, n) => sum + n, 0)
    }
    const group = async (session: Session, filter: DeploymentFilter): Promise<number> => {
      const query = { scope: fleet, by: { by: 'CONVERGENCE', labelKey: null }, filter, asOf: at } as const
      const groups = await pageGroups(session, query, bySize, first, limits)
      return groups.get(0)?.edges.reduce((sum, { node }) => sum + node.size, 0) ?? 0
    }
    const scoped = (session: Session) =>
      withScope(session, { labels: [{ key: 'site', value: 'north' }], projects: null })
    for (const read of [count, group]) {
      const all = await buffersOf(database, (session) => read(session, { consistent: true }))
      expect([all.answer, await read(scoped(database.session), { consistent: true })]).toEqual([size, 10])
      expect([all.buffers < 10_000, all.buffers]).toEqual([true, all.buffers])
      expect(await read(database.session, { hasError: true })).toBe(0)
    }
  })

  it('have the deployments that have left a rollout since', async () => {
    const former = 10 * size
    await database.session.run(
      `update change_log set from_rollout_key = ${former} where first_revision > ${base + size}`,
    )
    await database.session.run(`update past_deployments set rollout_key = ${former}`)
    const limits = { ...sourceLimits, candidates: 5_000, counted: 8_000, scanned: 0 }
    const scope: Scope = { of: 'rollout', keys: [former] }
    const pages = await pageDeployments(database.session, scope, {}, 'STATE', first, base + size + 100, limits)
    expect(pages.get(former)?.edges.map(({ node }) => node.key)).toEqual(Array.from({ length: 20 }, (_, n) => size - n))
    const counts = await countDeployments(database.session, scope, { consistent: true }, base + size + 100, limits)
    expect(counts.get(former)).toMatchObject({ pending: size - 100, installed: 0 })
  })
})

const bySize = { field: 'SIZE', descending: true } as const
