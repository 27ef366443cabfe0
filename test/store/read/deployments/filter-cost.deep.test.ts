/** What a filtered list or count reads: no more than its limits allow, however large the fleet. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { ChangeFilter } from '../../../../src/domain/nouns/change.ts'
import { createProjecting } from '../../../../src/ingest/duties/projections.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../../src/store/database.ts'
import { step } from '../../../../src/store/projection.ts'
import { countChanges } from '../../../../src/store/read/changes/change-counts.ts'
import { pageChanges } from '../../../../src/store/read/changes/changes.ts'
import { scanLimits } from '../../../../src/store/read/changes/scan.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { countSearched } from '../../../../src/store/read/counts/searched-total.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import type { SourceLimits } from '../../../../src/store/read/filters/source.ts'
import { withinGroup } from '../../../../src/store/read/groups/group-conditions.ts'
import type { GroupName } from '../../../../src/store/read/groups/grouping.ts'
import { countGroups, pageGroups } from '../../../../src/store/read/groups/groups.ts'
import { deploymentOrders, orders } from '../../../../src/store/read/orders/deployment-order.ts'
import { writeCursor } from '../../../../src/store/sql/cursor.ts'
import type { PageRequest } from '../../../../src/store/sql/order.ts'
import { summariesProjection } from '../../../../src/store/write/derived/change-summaries.ts'
import { writeCheckpoints } from '../../../../src/store/write/derived/checkpoints.ts'
import { searchProjection } from '../../../../src/store/write/derived/search-entries.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { readPlans } from '../plan.ts'
import { began, fillFleet, size } from './filtered-fleet.ts'

const fleet = { of: 'fleet' } as const
const limits: SourceLimits = { small: 0, candidates: 100, walked: 100, counted: 100, scanned: 0 }
const first: PageRequest = { size: 20, after: null, before: null, backward: false }
/** A page by state reads one range for each of six states, and each row may need a look at its target. */
const bound = 3_000

/** The revision before the first deployment. */
let base = 0

/** The first matches 3 deployments, the second about half of them. */
const filters: Readonly<Record<string, readonly [rare: DeploymentFilter, common: DeploymentFilter]>> = {
  errorCodes: [{ errorCodes: ['E_RARE'] }, { errorCodes: ['E_COMMON'] }],
  hasError: [{ where: { hasError: true, errorCodes: ['E_RARE'] } }, { hasError: true }],
  states: [{ where: { states: ['FAILED'] } }, { where: { states: ['INSTALLED'] } }],
  convergence: [{ convergence: ['STALE'] }, { convergence: ['CONVERGED'] }],
  consistent: [{ consistent: false }, { consistent: true }],
  readiness: [{ readiness: ['PENDING'] }, { readiness: ['READY'] }],
  derivedStates: [{ derivedStates: ['FAILED'] }, { derivedStates: ['INSTALLED'] }],
  labels: [{ labels: [{ key: 'site', value: 'small' }] }, { labels: [{ key: 'site', value: 'large' }] }],
  label: [{ where: { label: { key: 'ring' } } }, { where: { label: { key: 'site', notIn: ['large'] } } }],
  either: [
    { where: { or: [{ errorCodes: ['E_RARE'] }, { label: { key: 'site', equals: 'small' } }] } },
    { where: { or: [{ hasError: true }, { label: { key: 'site', equals: 'large' } }] } },
  ],
  not: [{ where: { not: { consistent: true }, consistent: false } }, { where: { not: { hasError: true } } }],
  components: [{ components: ['rare'] }, { components: ['api'] }],
  applications: [{ applications: ['rare'] }, { applications: ['app'], applicationVersions: ['1'] }],
  text: [{ text: '-7777' }, { text: 'dep' }],
  names: [{ text: 'Press 1' }, { text: 'press' }],
  connectivity: [{ connectivity: ['OFFLINE'] }, { connectivity: ['ONLINE'] }],
  models: [{ models: ['rare'] }, { vendors: ['common'] }],
  changed: [{ changedBefore: began + 3_500 }, { where: { and: [{ changedAfter: began + 5_000_000 }] } }],
}

describe.each(stores)('filtered reads on $name', (store) => {
  let empty: EmptyStore
  let database: Database

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    base = await database.transaction(fillFleet)
    while (await step(database, searchProjection, size - 3));
    await database.session.run('analyze')
    await createProjecting(database, summariesProjection).run({ now: 0, listeningSince: 0, isOver: () => false })
    // As the duty does.
    await writeCheckpoints(database, (await readHead(database.session)).revision, [0])
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('read few rows for the deployments of a group, as for its conditions', async () => {
    const name = { detail: null, labelKey: null }
    const groups: readonly (readonly [group: GroupName, size: number])[] = [
      [{ ...name, by: 'APPLICATION', value: 'rare' }, 3],
      [{ ...name, by: 'APPLICATION_VERSION', value: '1', detail: 'rare' }, 3],
      [{ ...name, by: 'COMPONENT', value: 'rare' }, 3],
      [{ ...name, by: 'BLOCKING_COMPONENT', value: 'rare' }, 0],
      [{ ...name, by: 'CONVERGENCE', value: 'STALE' }, 3],
      [{ ...name, by: 'ERROR', value: 'E_RARE', detail: 'disk full' }, 3],
      [{ ...name, by: 'ERROR', value: 'E_RARE', detail: 'disk broken' }, 0],
      [{ ...name, by: 'LABEL', labelKey: 'site', value: 'small' }, 3],
      [{ ...name, by: 'TARGET', value: '7' }, 1],
    ]
    for (const [group, members] of groups) {
      const filter = withinGroup({}, group)
      for (const order of deploymentOrders) {
        const page = await cost((s) => pageDeployments(s, fleet, filter, order, first, null, limits))
        expect([group, order, page.isRefused, page.rows <= bound]).toEqual([group, order, false, true])
      }
      const found = await pageDeployments(database.session, fleet, filter, 'NAME', first, null, limits)
      expect([group, found.get(0)?.edges.length]).toEqual([group, members])
      const counted = await countDeployments(database.session, fleet, filter, null, limits)
      expect([group, Object.values(counted.get(0) ?? {}).reduce((sum, n) => sum + n, 0)]).toEqual([group, members])
    }
  })

  it('read few rows for every filter, alone and in pairs, or refuse', async () => {
    const dear: object[] = []
    const alone = Object.entries(filters).flatMap(([name, [rare, common]]) => [
      { name: `rare ${name}`, filter: rare, isRare: true },
      { name: `common ${name}`, filter: common, isRare: false },
    ])
    const pairs = alone.flatMap((a, i) =>
      // The whole square takes minutes: each with three others.
      [1, 6, 11]
        .map((step) => alone[(i + step) % alone.length] ?? a)
        .map((b) => ({
          name: `${a.name}, ${b.name}`,
          filter: { where: { and: [asWhere(a.filter), asWhere(b.filter)] } },
          isRare: a.isRare || b.isRare,
        })),
    )
    for (const [index, { name, filter, isRare }] of [...alone, ...pairs].entries()) {
      // Every order and every end for each filter alone, and in turn for the pairs.
      const all = deploymentOrders.flatMap((order) => [false, true].map((backward) => ({ order, backward })))
      const some = index < alone.length ? all : all.slice(index % all.length).slice(0, 1)
      for (const { order, backward } of some) {
        // First or last, and after or before a row in the middle.
        const middle = writeCursor(orders[order], placed(5_000))
        const pages = index < alone.length ? [null, middle] : [null]
        for (const cursor of pages) {
          const page = { ...first, backward, after: backward ? null : cursor, before: backward ? cursor : null }
          const { rows, isRefused } = await cost((s) => pageDeployments(s, fleet, filter, order, page, null, limits))
          if (rows > bound || (isRare && isRefused)) dear.push({ name, order, backward, cursor, rows, isRefused })
        }
      }
      const { rows, isRefused } = await cost((s) => countDeployments(s, fleet, filter, null, limits))
      if (rows > bound || (isRare && isRefused)) dear.push({ name, count: rows, isRefused })
    }
    expect(dear).toEqual([])
  })

  it('read few rows for groups of what few rows match', async () => {
    for (const [name, [filter]] of Object.entries(filters))
      for (const by of ['ERROR', 'COMPONENT', 'TARGET'] as const) {
        const read = (s: Session) =>
          pageGroups(
            s,
            { scope: fleet, by: { by, labelKey: null }, filter, asOf: null },
            { field: 'SIZE', descending: true },
            first,
            limits,
          )
        const { rows } = await cost(read)
        expect([name, by, rows < bound, rows]).toEqual([name, by, true, rows])
        const nodes = (await read(database.session)).get(0)?.edges.map(({ node }) => node) ?? []
        const rare = await pageDeployments(database.session, fleet, filter, 'NAME', first, null, limits)
        if (by === 'TARGET') expect([name, nodes.length]).toEqual([name, rare.get(0)?.edges.length])
      }
  })

  it('compare rows again with what an index found only where all rows match it', async () => {
    const [offline, codes] = [{ connectivity: ['OFFLINE'] }, { errorCodes: ['E_RARE'] }] as const
    const total = async (filter: DeploymentFilter) => {
      const counts = await countDeployments(database.session, fleet, filter, null, limits)
      return Object.values(counts.get(0) ?? {}).reduce((sum, n) => sum + n, 0)
    }
    for (const leaf of [offline, codes]) {
      expect(await total({ where: { and: [leaf, { consistent: false }] } })).toBe(3)
      // The same list of values may be at several places of a filter.
      expect(await total({ ...leaf, where: { not: leaf } })).toBe(0)
      expect(await total({ where: { and: [leaf, { not: leaf }] } })).toBe(0)
      expect(await total({ where: { and: [leaf, { or: [{ not: leaf }, { applications: ['nothing'] }] }] } })).toBe(0)
    }
  })

  it('count what the search index has without a look at any deployment', async () => {
    const filter: DeploymentFilter = { components: ['api'], where: { applicationVersions: ['1'] } }
    const plans = readPlans(database.session)
    expect(await countSearched(plans.session, 'fleet', filter)).toBe(size)
    expect(plans.rows()).toBeLessThan(size + 100)
    await expect(countDeployments(database.session, fleet, filter, null, limits)).rejects.toThrow('too many to count')
  })

  it('answer whatever the filter in a fleet that they may count', async () => {
    const counted: SourceLimits = { small: 0, candidates: 0, walked: 100, counted: size, scanned: 0 }
    for (const order of deploymentOrders) {
      const filter: DeploymentFilter = { states: ['INSTALLED', 'FAILED'], text: 'dep-7777' }
      const pages = await pageDeployments(database.session, fleet, filter, order, first, null, counted)
      expect(pages.get(0)?.edges.map(({ node }) => node.key)).toEqual([7_777])
    }
  })

  it('read a page in the order of states from the index, also where they may walk the whole fleet', async () => {
    const counted: SourceLimits = { small: 0, candidates: 0, walked: 100, counted: size, scanned: 0 }
    for (const order of ['STATE', 'STATE_DESC'] as const) {
      const read = (s: Session) => pageDeployments(s, fleet, { components: ['api'] }, order, first, null, counted)
      const { rows } = await cost(read)
      expect([order, rows < 1_000, rows]).toEqual([order, true, rows])
    }
  })

  it('read the blocks of the log that have what a filter of changes asks for', async () => {
    const cases: readonly (readonly [filter: ChangeFilter, count: number, rows: number])[] = [
      [{ kinds: ['ALERT_RAISED'] }, 0, 100],
      // The first block.
      [{ kinds: ['DEPLOYMENT_STALLED'] }, 3, 3_100],
      [{ where: { and: [{ errorCodes: ['E_RARE'] }, { to: ['INSTALLED'] }] } }, 1, 3_100],
      // A block has too many of these components to list them.
      [{ kinds: ['DEPLOYMENT_STALLED'], components: ['ui-1'] }, 1, 3_100],
    ]
    for (const [filter, count, most] of cases) {
      for (const backward of [false, true]) {
        const { rows, isRefused } = await cost((s) => pageChanges(s, fleet, filter, { ...first, backward }, null))
        expect([filter, isRefused, rows < most, rows]).toEqual([filter, false, true, rows])
      }
      const pages = await pageChanges(database.session, fleet, filter, first, null)
      expect(pages.get(0)?.edges).toHaveLength(count)
      const counted = await cost((s) => countChanges(s, fleet, filter, null))
      expect([filter, counted.rows < most, counted.rows]).toEqual([filter, true, counted.rows])
      expect(await countChanges(database.session, fleet, filter, null)).toEqual(new Map([[0, count]]))
    }
    // What all blocks have is counted first, and then not read.
    const all: ChangeFilter = { kinds: ['COMPONENT_STATE_CHANGED'] }
    const refused = await cost((s) => countChanges(s, fleet, all, null, { ...scanLimits, counted: 5_000 }))
    expect([refused.isRefused, refused.rows < 100, refused.rows]).toEqual([true, true, refused.rows])
  })

  it('read the changes of the fewest subjects that a filter names in conditions that must hold', async () => {
    const one: ChangeFilter = { deploymentIds: ['dep-7776'] }
    const many: ChangeFilter = { rolloutKeys: Array.from({ length: size }, (_, n) => n + 1) }
    const selectors: readonly NonNullable<ChangeFilter['where']>[] = [
      { and: [{ and: [one] }] },
      { and: [many, one] },
      { ...many, and: [{ to: ['INSTALLED'], ...one }] },
    ]
    for (const where of selectors) {
      const { rows, isRefused } = await cost((s) => pageChanges(s, fleet, { where }, first, null))
      expect([isRefused, rows < 100, rows]).toEqual([false, true, rows])
      const counted = await cost((s) => countChanges(s, fleet, { where }, null))
      expect([counted.rows < 100, counted.rows]).toEqual([true, counted.rows])
    }
  })

  it('read few rows where few of a common state have it as their derived state', async () => {
    await database.session.run(
      `update deployments set derived_state = 'FAILED' where state = 'INSTALLED' and key > 100`,
    )
    const filter: DeploymentFilter = { derivedStates: ['INSTALLED'], consistent: true }
    const page = await cost((s) => pageDeployments(s, fleet, filter, 'CHANGED_DESC', first, null, limits))
    const count = await cost((s) => countDeployments(s, fleet, filter, null, limits))
    expect([page.rows < bound, count.rows < bound, page, count]).toEqual([true, true, page, count])
  })

  it('read the deployments with an error for groups by error, and the counters for the others', async () => {
    const healthy = size - 3
    await database.session.run('update deployments set error = null where key > 3')
    await database.session.run(
      `update log_head set failed = 3, installed = ${healthy}, convergence_stale = 3, convergence_converged = ${healthy}`,
    )
    const by = { by: 'ERROR', labelKey: null } as const
    const read = (s: Session) =>
      pageGroups(s, { scope: fleet, by, filter: {}, asOf: null }, { field: 'SIZE', descending: true }, first, limits)
    const { rows } = await cost(read)
    expect([rows < 100, rows]).toEqual([true, rows])
    const nodes = (await read(database.session)).get(0)?.edges.map(({ node }) => node) ?? []
    expect(
      nodes.map(({ name, size, counts, convergence }) => [name.value, size, counts.failed, convergence.converged]),
    ).toEqual([
      [null, healthy, 0, healthy],
      ['E_RARE', 3, 3, 0],
    ])
    expect(await countGroups(database.session, { scope: fleet, by, filter: {}, asOf: null })).toEqual(new Map([[0, 2]]))
  })

  async function cost(read: (session: Session) => Promise<unknown>) {
    const plans = readPlans(database.session)
    let isRefused = false
    await read(plans.session).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error
      isRefused = true
    })
    return { rows: plans.rows(), isRefused }
  }
})

function placed(i: number) {
  return { key: i, deploymentId: `dep-${i}`, state: 'INSTALLED', revision: base + i } as const
}

function asWhere({ where, ...flat }: DeploymentFilter): NonNullable<DeploymentFilter['where']> {
  const { retired, group, ...leaf } = flat
  return { and: [leaf, where ?? {}] }
}
