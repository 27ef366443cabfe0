/** Counts by facet read no deployments, are checked by the audit, and end where they would cost more than they save. */
import { expect, it, onTestFinished } from 'vitest'
import type { Revision } from '../../../../src/domain/values.ts'
import { createFacetCounts } from '../../../../src/ingest/duties/facet-counts.ts'
import { longestId } from '../../../../src/platform/body/text.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import { withScope } from '../../../../src/store/read/access-scope.ts'
import { audit } from '../../../../src/store/read/counts/audit.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { areCounted, facetsOf } from '../../../../src/store/read/counts/facet-counts.ts'
import { type DeploymentFilter, flattened } from '../../../../src/store/read/filters/deployment-filter.ts'
import { writeCheckpoints } from '../../../../src/store/write/derived/checkpoints.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { stores } from '../../../support/databases/stores.ts'
import { inSnapshot } from '../history.ts'
import { buffersOf, fillLog } from '../long-log.ts'
import { groupsByApplication } from './application-groups.ts'

const fleet = { of: 'fleet' } as const
const turn = { now: 0, listeningSince: 0, isOver: () => false }

it.each(stores)('groups by application have the longest names, and those without one, on $name', async (store) => {
  const database = await openFresh(store)
  onTestFinished(() => database.close())
  const { session } = database
  await fillLog(database, (await readHead(session)).revision, 100)
  const longest = '😀'.repeat(longestId)
  await session.run(
    `update deployments set application = case key % 10 when 0 then $1 when 1 then null else 'shop' end`,
    [longest],
  )
  const duty = createFacetCounts(database, { fewest: 0, mostFacets: 10, spacing: 10 })
  expect(await duty.run(turn)).toBe(true)
  const sizes = (await groupsByApplication(session, {})).map(({ name, size }) => [name.value, size] as const)
  expect(new Map(sizes)).toEqual(
    new Map([
      ['shop', 80],
      [longest, 10],
      [null, 10],
    ]),
  )
})

it.each(stores)(
  'counts by facet read no deployments, and the audit checks them, on $name',
  async (store) => {
    const database = await openFresh(store)
    onTestFinished(() => database.close())
    const { session } = database
    const [size, base] = [30_000, (await readHead(session)).revision]
    await fillLog(database, base, size)
    await session.run(
      `update past_deployments set application = 'shop', error = json_build_object('code', 'E_DISK', 'message', 'full')`,
    )
    await session.run(`update change_log set changes = '[{"kind": "DEPLOYMENT_REVISED", "application": "shop"}, {"kind": "DEPLOYMENT_STATE_CHANGED", "error": {"code": "E_DISK"}}]'
    where first_revision <= ${base + size}`)
    await session.run(
      `update change_log set changes = '[{"kind": "DEPLOYMENT_STATE_CHANGED", "error": null}]' where first_revision > ${base + size}`,
    )
    await session.run(`update deployments set application = 'shop'`)
    const duty = createFacetCounts(database, { fewest: size, mostFacets: 10, spacing: 1_000 })
    expect(await duty.run(turn)).toBe(true)
    const at = base + size + 12_345
    const counts: readonly (readonly [DeploymentFilter, Revision | null, object])[] = [
      [{ applications: ['shop'] }, at, { pending: size - 12_345, installed: 12_345 }],
      [{ errorCodes: ['E_DISK'] }, at, { pending: size - 12_345, installed: 0 }],
      [{ hasError: true }, base + 100, { pending: 100 }],
      [{ hasError: true }, null, { pending: 0, installed: 0 }],
      [{ applications: ['shop'] }, null, { pending: 0, installed: size }],
    ]
    for (const [filter, asOf, expected] of counts) {
      const { answer, buffers } = await buffersOf(database, (s) => countDeployments(s, fleet, filter, asOf))
      expect([filter, answer.get(0)]).toMatchObject([filter, expected])
      // To unwind all that have changed since takes 60,000 and more.
      expect([filter, buffers < 600, buffers]).toEqual([filter, true, buffers])
    }
    await writeCheckpoints(database, base + 2 * size, [0])
    const { answer: groups, buffers } = await buffersOf(database, (s) => groupsByApplication(s, {}))
    expect(groups).toMatchObject([{ name: { value: 'shop' }, size, groupCount: 1, counts: { installed: size } }])
    expect([buffers < 600, buffers]).toEqual([true, buffers])

    // The audit counts those of the present, and adds up the log.
    const drift = async () =>
      (await inSnapshot(database, (s) => audit(s))).filter(({ scope }) => scope.startsWith('facet:'))
    expect(await drift()).toEqual([])
    await session.run(`update facet_counts set counts = '[]' where facet = 'a:shop'`)
    expect(await drift()).toEqual([{ scope: 'facet:a:shop', field: 'INSTALLED/UNKNOWN', counted: 0, recounted: size }])
    await session.run(
      `update facet_counts set counts = '[{"state":"INSTALLED","convergence":"UNKNOWN","n":${size}}]' where facet = 'a:shop'`,
    )
    expect(await drift()).toEqual([])

    // Another scope or filter is counted by its rows.
    const others: readonly DeploymentFilter[] = [
      { errorCodes: ['a', 'b'] },
      { hasError: false },
      { applications: ['x'], consistent: true },
      { applications: ['x'], where: { or: [{ states: ['FAILED'] }] } },
      { applications: ['x'], where: { and: [{ not: { states: ['FAILED'] } }] } },
      { errorCodes: ['a'], where: { errorCodes: ['b'] } },
      { applications: ['x'.repeat(2_000)] },
      {},
    ]
    for (const filter of others) expect(facetsOf(session, fleet, flattened(filter))).toBeNull()
    expect(facetsOf(session, { of: 'rollout', keys: [1] }, { hasError: true })).toBeNull()
    const scoped = withScope(session, { labels: [{ key: 'site', value: 'x' }], projects: null })
    expect(facetsOf(scoped, fleet, { hasError: true })).toBeNull()

    // A duty that is far behind: to read all entries since would take longer.
    const lag = (by: number) => session.run('update duties set cursor = cursor - $1 where name = $2', [by, 'facets'])
    await lag(20_001)
    const known = [base + 2 * size - 20_000, base + 2 * size - 1, base + 2 * size, null]
    expect(await Promise.all(known.map((revision) => areCounted(session, revision)))).toEqual([
      true,
      true,
      false,
      false,
    ])
    await lag(-1)
    expect(await areCounted(session, null)).toBe(true)
    await lag(-20_000)

    // A facet that no deployment has any more is forgotten, and counts as none.
    await session.run(`insert into facet_counts values ('e:E_ONCE', '[]')`)
    await duty.run(turn)
    expect(await session.run(`select from facet_counts where facet = 'e:E_ONCE'`)).toEqual([])

    // What retention removes is forgotten, and all of it where there are too many facets.
    await session.run(`update log_head set tail = ${at}`)
    expect(await areCounted(session, at + 1)).toBe(true)
    // Retention has overtaken the duty.
    await lag(size - 12_345 + 1)
    expect(await areCounted(session, null)).toBe(false)
    await duty.run(turn)
    expect(await areCounted(session, null)).toBe(true)
    expect(await drift()).toEqual([])
    await createFacetCounts(database, { fewest: size, mostFacets: 0, spacing: 1_000 }).run(turn)
    expect(await areCounted(session, null)).toBe(false)
    expect(await session.run('select from facet_checkpoints union all select from facet_counts')).toEqual([])
  },
  120_000,
)
