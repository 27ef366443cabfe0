import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Change } from '../../../../src/domain/change.ts'
import type { DomainError } from '../../../../src/domain/errors.ts'
import { type ChangeFilter, matchesChange } from '../../../../src/domain/nouns/change.ts'
import type { Revision } from '../../../../src/domain/values.ts'
import type { Database } from '../../../../src/store/database.ts'
import { step } from '../../../../src/store/projection.ts'
import { countChanges } from '../../../../src/store/read/changes/change-counts.ts'
import { pageChanges, readLog } from '../../../../src/store/read/changes/changes.ts'
import { type ScanLimits, scanLimits } from '../../../../src/store/read/changes/scan.ts'
import type { ChangeScope } from '../../../../src/store/read/changes/scope.ts'
import type { Page, PageRequest } from '../../../../src/store/sql/order.ts'
import { summariesProjection } from '../../../../src/store/write/derived/change-summaries.ts'
import { pruneHistory } from '../../../../src/store/write/retention.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { componentNames, inSnapshot, live, watched } from '../history.ts'
import { filtersOf } from './change-filters.ts'

const everything = { size: 100, after: null, before: null, backward: false }
/** A slow machine refuses nothing. */
const patient: ScanLimits = { ...scanLimits, budget: Number.POSITIVE_INFINITY }

describe.each(stores)('the changes on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let start: Revision
  let log: readonly Change[]
  let deploymentKeys: readonly number[]
  let rolloutKeys: readonly number[]
  let filters: fc.Arbitrary<ChangeFilter>

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    start = await inSnapshot(database, async ({ head }) => (await head).revision)
    const { moments } = await live(database, 3, 90)
    log = await readLog(database.session, start, 10_000)
    // The newest entries have no summary, as behind the duty.
    while (
      ((await step(database, summariesProjection, 5))?.cursor ?? Number.MAX_SAFE_INTEGER) <
      start + (2 * log.length) / 3
    );
    const last = moments.at(-1)?.deployments ?? []
    deploymentKeys = last.map(({ key }) => key)
    // Also those that all deployments have left.
    rolloutKeys = [...new Set(moments.flatMap(({ deployments }) => deployments.map(({ rolloutKey }) => rolloutKey)))]
    filters = filtersOf(
      rolloutKeys,
      log.map(({ at }) => at),
    )
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('are a revision each, without a gap, however they are cut', async () => {
    expect(log.map(({ revision }) => revision)).toEqual(log.map((_, index) => start + 1 + index))
    expect(new Set(log.map(({ kind }) => kind)).size).toBeGreaterThan(5)
    const cuts = fc.record({ after: fc.nat(log.length), length: fc.nat(40) })
    await fc.assert(
      fc.asyncProperty(cuts, async ({ after, length }) => {
        const until = start + after + length
        const found = await readLog(database.session, start + after, 1_000, until)
        expect(found).toEqual(log.slice(after, after + length))
      }),
      { numRuns: someOf(12, 30) },
    )
    // A limit counts entries, so nothing of one is left out.
    const some = await readLog(database.session, start, 5)
    expect(some).toEqual(log.slice(0, some.length))
    expect(some.length).toBeGreaterThanOrEqual(5)
    expect(await readLog(database.session, start + log.length, 10)).toEqual([])
  })

  it('are the same in pages of any size, direction and filter, with exact flags', async () => {
    const walks = fc.record({
      filter: filters,
      size: fc.integer({ min: 1, max: 30 }),
      backward: fc.boolean(),
      until: fc.oneof(fc.constant(null), fc.nat(log.length)),
      scope: scopes(),
      // Rollouts of few entries, and of many.
      ofRollouts: fc.constantFrom(patient.ofRollouts, 0),
    })
    await fc.assert(
      fc.asyncProperty(walks, async ({ filter, size, backward, until: cut, scope, ofRollouts }) => {
        const limits = { ...patient, ofRollouts, deployments: ofRollouts }
        const until = cut === null ? null : start + cut
        const counts = await countChanges(database.session, scope, filter, until, limits)
        for (const parent of [...counts.keys()].slice(0, 3)) {
          const expected = answer(scope, parent, filter, until)
          expect(counts.get(parent)).toBe(expected.length)
          const found: Change[] = []
          for (let cursor: string | null = null; ; ) {
            const bounds = backward ? { after: null, before: cursor } : { after: cursor, before: null }
            const pages = await pageChanges(
              database.session,
              scope,
              filter,
              { size, ...bounds, backward },
              until,
              limits,
            )
            const page = pages.get(parent)
            const nodes = page?.edges.map(({ node }) => node) ?? []
            backward ? found.unshift(...nodes) : found.push(...nodes)
            const isAtEnd = found.length === expected.length
            expect([page?.hasPreviousPage, page?.hasNextPage]).toEqual(
              backward ? [!isAtEnd, cursor !== null] : [cursor !== null, !isAtEnd],
            )
            cursor = (backward ? page?.edges[0] : page?.edges.at(-1))?.cursor ?? null
            if (cursor === null || isAtEnd || nodes.length === 0) break
          }
          expect(found).toEqual(expected)
        }
      }),
      { numRuns: someOf(15, 120) },
    )
  })

  it('match in SQL as they match in memory, between any two revisions', async () => {
    const questions = fc.record({ filter: filters, from: fc.nat(log.length), length: fc.nat(60) })
    await fc.assert(
      fc.asyncProperty(questions, async ({ filter, from, length }) => {
        const page = { ...everything, after: String(start + from), before: String(start + from + length) }
        const pages = await pageChanges(database.session, { of: 'fleet' }, filter, page, null, patient)
        const between = log
          .slice(from, Math.max(from + length - 1, from))
          .filter((change) => matchesChange(filter, change))
        expect(pages.get(0)?.edges.map(({ node }) => node)).toEqual(between)
      }),
      { numRuns: someOf(25, 200) },
    )
  })

  it('are found by filters that must look at each of them, a window a statement, up to a limit', async () => {
    const filter: ChangeFilter = { kinds: ['DEPLOYMENT_MOVED'] }
    const moves = log.filter((change) => matchesChange(filter, change))
    const fleet: ChangeScope = { of: 'fleet' }
    const small: ScanLimits = {
      span: 7,
      windows: 10_000,
      budget: Number.POSITIVE_INFINITY,
      counted: 10_000,
      ofRollouts: 0,
      deployments: 0,
    }
    for (const backward of [false, true]) {
      const page = { size: 3, after: null, before: null, backward }
      const pages = await pageChanges(database.session, fleet, filter, page, null, small)
      expect(pages.get(0)?.edges.map(({ node }) => node)).toEqual(backward ? moves.slice(-3) : moves.slice(0, 3))
      expect(pages.get(0)).toMatchObject({ hasNextPage: !backward, hasPreviousPage: backward })
    }
    expect(await countChanges(database.session, fleet, filter, null, small)).toEqual(new Map([[0, moves.length]]))

    const tight = { span: 7, windows: 2, budget: 0, counted: 3, ofRollouts: 0, deployments: 0 }
    const counted = countChanges(database.session, fleet, filter, null, tight)
    await expect(counted).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
    for (const backward of [false, true])
      for (const limits of [tight, { ...small, windows: 1, budget: 0 }]) {
        const { found, refusals } = await readOn(filter, backward, limits)
        expect(found).toEqual(moves)
        expect(refusals).toBeGreaterThan(3)
      }
    const { session, statements } = watched(database.session)
    await pageChanges(session, fleet, { labels: [{ key: 'site', value: 'north' }] }, everything, null)
    expect(statements).toHaveLength(1)
    // Only what has no summary is read for what no summary has.
    await pageChanges(session, fleet, { kinds: ['ALERT_RAISED'] }, everything, null)
    expect(statements).toHaveLength(3)
  })

  /** All changes that match, one a page. After a refusal, it continues where the refusal says. */
  async function readOn(filter: ChangeFilter, backward: boolean, limits: ScanLimits) {
    const found: Change[] = []
    let refusals = 0
    for (let cursor: string | null = null; ; ) {
      const page: PageRequest = { size: 1, backward, after: backward ? null : cursor, before: backward ? cursor : null }
      const answer: Map<number, Page<Change>> | DomainError = await pageChanges(
        database.session,
        { of: 'fleet' },
        filter,
        page,
        null,
        limits,
      ).catch((error: DomainError) => error)
      if (answer instanceof Map) {
        const [edge] = answer.get(0)?.edges ?? []
        if (!edge) return { found, refusals }
        cursor = edge.cursor
        backward ? found.unshift(edge.node) : found.push(edge.node)
      } else {
        refusals += 1
        expect(answer.code).toBe('BAD_USER_INPUT')
        const next: unknown = answer.facts[backward ? 'continueBefore' : 'continueAfter']
        expect(next).not.toBe(cursor)
        cursor = String(next)
      }
    }
  }

  it('of rollouts with many entries are found by the summaries, in pages and counts that all agree', async () => {
    const many = { ...patient, ofRollouts: 0 }
    const questions = fc.record({
      conditions: filters,
      keys: fc.subarray([...rolloutKeys], { minLength: 1, maxLength: 3 }),
      size: fc.integer({ min: 1, max: 5 }),
      backward: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(questions, async ({ conditions, keys, size, backward }) => {
        const filter: ChangeFilter = { ...conditions, rolloutKeys: keys }
        const expected = log.filter((change) => matchesChange(filter, change))
        const page = { ...everything, size, backward }
        const fleet: ChangeScope = { of: 'fleet' }
        const pages = await pageChanges(database.session, fleet, filter, page, null, many)
        expect(pages.get(0)?.edges.map(({ node }) => node)).toEqual(
          backward ? expected.slice(-size) : expected.slice(0, size),
        )
        expect(await countChanges(database.session, fleet, filter, null, many)).toEqual(new Map([[0, expected.length]]))
      }),
      { numRuns: someOf(15, 120) },
    )
  })

  it('refuse cursors that are no revisions', async () => {
    for (const text of ['', 'x', '-1', '1.5', '0x10', ' 1']) {
      const asked = pageChanges(database.session, { of: 'fleet' }, {}, { ...everything, after: text }, null)
      await expect(asked).rejects.toMatchObject({ code: 'BAD_USER_INPUT', problems: [{ field: 'after' }] })
    }
    const beyond = { ...everything, after: '9'.repeat(30) }
    const pages = await pageChanges(database.session, { of: 'fleet' }, {}, beyond, null)
    expect(pages.get(0)).toEqual({ edges: [], hasNextPage: false, hasPreviousPage: true })
  })

  it('begin at what is retained', async () => {
    const at = log[Math.floor(log.length / 2)]?.at ?? 0
    for (let removed = 1; removed > 0; ) removed = await pruneHistory(database, at, 10)
    const kept = log.filter((change) => change.at >= at)
    expect(kept.length).toBeGreaterThan(0)
    expect(await readLog(database.session, start, 10_000)).toEqual(kept)
    expect(await countChanges(database.session, { of: 'fleet' }, {}, null)).toEqual(new Map([[0, kept.length]]))
    const pages = await pageChanges(database.session, { of: 'fleet' }, {}, { ...everything, size: 2 }, null)
    expect(pages.get(0)?.edges.map(({ node }) => node)).toEqual(kept.slice(0, 2))
  })

  function scopes(): fc.Arbitrary<ChangeScope> {
    const component = fc.record({
      deploymentKey: fc.constantFrom(...deploymentKeys),
      name: fc.constantFrom(...componentNames, 'nothing', '\0'),
    })
    return fc.oneof(
      fc.constant<ChangeScope>({ of: 'fleet' }),
      fc
        .array(fc.constantFrom(...deploymentKeys), { minLength: 1 })
        .map((keys): ChangeScope => ({ of: 'deployment', keys })),
      fc.array(fc.constantFrom(...rolloutKeys), { minLength: 1 }).map((keys): ChangeScope => ({ of: 'rollout', keys })),
      fc.array(component, { minLength: 1, maxLength: 4 }).map((items): ChangeScope => ({ of: 'component', items })),
    )
  }

  function answer(scope: ChangeScope, parent: number, filter: ChangeFilter, until: Revision | null): Change[] {
    const item = scope.of === 'component' ? scope.items[parent] : null
    return log.filter(
      (change) =>
        (until === null || change.revision <= until) &&
        (scope.of !== 'deployment' || change.deploymentKey === parent) &&
        (scope.of !== 'rollout' || matchesChange({ rolloutKeys: [parent] }, change)) &&
        (!item ||
          (change.deploymentKey === item.deploymentKey && 'component' in change && change.component === item.name)) &&
        matchesChange(filter, change),
    )
  }
})
