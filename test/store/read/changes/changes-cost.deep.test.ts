/** What filtered changes of a rollout with many entries touch: buffers, not times. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChangeFilter } from '../../../../src/domain/nouns/change.ts'
import type { Revision } from '../../../../src/domain/values.ts'
import { createProjecting } from '../../../../src/ingest/duties/projections.ts'
import type { Database } from '../../../../src/store/database.ts'
import { countChanges } from '../../../../src/store/read/changes/change-counts.ts'
import { pageChanges } from '../../../../src/store/read/changes/changes.ts'
import { scanLimits } from '../../../../src/store/read/changes/scan.ts'
import { summariesProjection } from '../../../../src/store/write/derived/change-summaries.ts'
import { stores } from '../../../support/databases/stores.ts'
import { buffersOf, openLongLog } from '../long-log.ts'

const size = 50_000
const spring = size + 1
/** Of the rollout `spring`: the only failure, and the only change of its application. */
const [failed, revised] = [20_000, 40_000]

describe.each(stores)('changes of a rollout with many entries on $name', (store) => {
  let database: Database
  let base: Revision
  let close = async (): Promise<void> => {}
  beforeAll(async () => {
    ;({ database, base, close } = await openLongLog(store, size))
    const change = `json_build_object('kind', case when deployment_key = ${revised} then 'DEPLOYMENT_REVISED' else 'DEPLOYMENT_STATE_CHANGED' end,
      'from', 'PENDING', 'to', case when deployment_key = ${failed} then 'FAILED' else 'INSTALLED' end, 'error', null, 'attempt', 1, 'rolloutKey', rollout_key)`
    await database.session.run(
      `update change_log set changes = json_build_array(${change}) where first_revision > ${base + size}`,
    )
    await database.session.run('vacuum analyze change_log')
    while (
      !(await createProjecting(database, summariesProjection).run({ now: 0, listeningSince: 0, isOver: () => false }))
    );
  })
  afterAll(() => close())

  it('read the parts of the log that have what the filter asks for', async () => {
    const filters: readonly (readonly [filter: ChangeFilter, found: readonly Revision[]])[] = [
      [{ kinds: ['LIFECYCLE_ACTION_RECORDED'] }, []],
      [{ kinds: ['DEPLOYMENT_REVISED'] }, [base + size + revised]],
      [{ to: ['FAILED'] }, [base + size + failed]],
      [{ errorCodes: ['E_NONE'] }, []],
    ]
    for (const [asked, found] of filters) {
      const filter = { ...asked, rolloutKeys: [spring] }
      for (const backward of [false, true]) {
        const page = { size: 20, after: null, before: null, backward }
        const { answer, buffers } = await buffersOf(database, (s) =>
          pageChanges(s, { of: 'fleet' }, filter, page, null),
        )
        expect([filter, answer.get(0)?.edges.map(({ node }) => node.revision)]).toEqual([filter, found])
        // The rollout has 50,000 entries.
        expect([filter, buffers < 1_000, buffers]).toEqual([filter, true, buffers])
      }
      const { answer, buffers } = await buffersOf(database, (s) => countChanges(s, { of: 'fleet' }, filter, null))
      expect([filter, answer.get(0)]).toEqual([filter, found.length])
      expect([filter, buffers < 1_000, buffers]).toEqual([filter, true, buffers])
    }
    // A count of all its entries is refused, as any other of so many, and a common ID is not looked up deployment by deployment.
    const few = { ...scanLimits, counted: 10_000 }
    const refusal = { code: 'BAD_USER_INPUT' }
    for (const filter of [{ rolloutKeys: [spring] }, { rolloutKeys: [spring], to: ['INSTALLED' as const] }]) {
      const counted = countChanges(database.session, { of: 'fleet' }, filter, null, few)
      await expect(counted).rejects.toMatchObject(refusal)
    }
    const ofRollout = countChanges(database.session, { of: 'rollout', keys: [spring] }, {}, null, few)
    await expect(ofRollout).rejects.toMatchObject(refusal)
    const later = { rolloutKeys: [spring], since: Date.now() + 86_400_000 }
    expect(await countChanges(database.session, { of: 'fleet' }, later, null, few)).toEqual(new Map([[0, 0]]))
    await database.session.run(`update deployments set deployment_id = 'job' where key > ${size / 2}`)
    const newest = { size: 20, after: null, before: null, backward: true }
    const ofJob = await buffersOf(database, (s) =>
      pageChanges(s, { of: 'fleet' }, { deploymentIds: ['job'] }, newest, null),
    )
    expect(ofJob.answer.get(0)?.edges.map(({ node }) => node.revision)).toEqual(
      Array.from({ length: 20 }, (_, index) => base + 2 * size - 19 + index),
    )
    // To look each of 25,000 deployments up takes several times as many.
    expect([ofJob.buffers < 40_000, ofJob.buffers]).toEqual([true, ofJob.buffers])
    // What each block has fills a page with the first blocks.
    const page = { size: 20, after: null, before: null, backward: true }
    const common: ChangeFilter = { rolloutKeys: [spring], to: ['INSTALLED'] }
    const { answer, buffers } = await buffersOf(database, (s) => pageChanges(s, { of: 'fleet' }, common, page, null))
    expect(answer.get(0)?.edges.length).toBe(20)
    expect([buffers < 1_000, buffers]).toEqual([true, buffers])
  })
})
