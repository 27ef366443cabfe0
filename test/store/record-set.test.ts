/** Rows are stored as they are, however many of their columns are equal, null or zero. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { counters } from '../../src/domain/counters.ts'
import { insertOf, updateOf } from '../../src/store/sql/record-set.ts'
import { fieldsBut, rowMapper } from '../../src/store/sql/row-mapping.ts'
import { reports, rollouts } from '../../src/store/tables/schema.ts'
import { openFresh } from '../support/databases/databases.ts'
import { everyStore } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'

const insertReports = insertOf(reports)
const insertRollouts = insertOf(rollouts)
const countRollouts = updateOf(rollouts, {
  set: (field) => field === 'changedRevision',
  add: counters,
  first: ['startedRevision'],
  last: ['activityRevision'],
})
const time = fc.integer({ min: 0, max: 2 }).map((n) => 1_800_000_000_000 + n)
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 1 })
const text = fc.constantFrom('', 'a', 'NULL', '{"\\', 'ü,1')
const row = fc.record({
  deploymentKey: fc.constantFrom(1, 2),
  verdict: fc.constantFrom('APPLIED', 'STALE'),
  staleBy: maybe(fc.constantFrom('seq', 'boot')),
  reportedAt: maybe(time),
  receivedAt: time,
  seq: maybe(fc.constantFrom('0', '18446744073709551615')),
  boot: maybe(text),
  adoptedManifestVersion: fc.constant(null),
  state: fc.constantFrom('PENDING', 'FAILED'),
  error: maybe(fc.record({ code: text, message: text })),
  components: maybe(fc.constantFrom([], [{ name: 'web' }])),
  targetKey: maybe(fc.constantFrom(0, 1)),
  rolloutKey: fc.constant(null),
  revision: maybe(fc.constantFrom(0, 7)),
  dialect: text,
})
const number = fc.constantFrom(0, 0, 3)
const delta = fc.record({
  changedRevision: number,
  startedRevision: maybe(number),
  activityRevision: maybe(number),
  pending: number,
  installed: number,
  failed: fc.constant(0),
})
const none = Object.fromEntries(counters.map((counter) => [counter, 0]))

describe.each(everyStore)('set-based writes on $name', (store) => {
  it('insert each row once with its values', async () => {
    const { session } = await openFresh(store)
    const toReport = rowMapper(reports, fieldsBut(reports))
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 6 }), async (list) => {
        const rows = list.map((one, key) => ({ ...one, key }))
        await session.run('delete from reports')
        await session.run(insertReports.text, insertReports.parameters(rows))
        const stored = await session.run<Parameters<typeof toReport>[0]>('select * from reports order by key')
        expect(stored.map(toReport)).toEqual(rows)
      }),
      { numRuns: someOf(20, 60) },
    )
  })

  it('update each row, and add to its counters', async () => {
    const { session } = await openFresh(store)
    const toRollout = rowMapper(rollouts, fieldsBut(rollouts))
    const fresh = (key: number): object => ({
      ...Object.fromEntries(fieldsBut(rollouts).map((field) => [field, null])),
      ...{ key, kind: 'DECLARED', identity: String(key), name: 'r', createdRevision: 1, createdAt: 0 },
      ...{ activityRevision: 1, activityAt: 0, changedRevision: 1, changedAt: 0 },
      ...{ ...none, pending: 5 },
    })
    await fc.assert(
      fc.asyncProperty(fc.array(delta, { maxLength: 6 }), async (list) => {
        const deltas = list.map((one, key) => ({ ...none, ...one, key }))
        await session.run('delete from rollouts')
        await session.run(insertRollouts.text, insertRollouts.parameters(deltas.map(({ key }) => fresh(key))))
        for (let twice = 0; twice < 2; twice += 1)
          await session.run(countRollouts.text, countRollouts.parameters(deltas))
        const stored = await session.run<Parameters<typeof toRollout>[0]>('select * from rollouts order by key')
        expect(stored.map(toRollout)).toEqual(
          deltas.map(({ key, pending, installed, activityRevision, ...lives }) => ({
            ...fresh(key),
            ...lives,
            activityRevision: activityRevision ?? 1,
            pending: 5 + 2 * pending,
            installed: 2 * installed,
          })),
        )
      }),
      { numRuns: someOf(20, 60) },
    )
  })
})
