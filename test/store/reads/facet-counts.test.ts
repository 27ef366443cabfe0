/** Counts by facet equal the fold of the log at each revision, cost a bounded number of pages, and are checked by the audit. */
import { expect, it, onTestFinished } from 'vitest'
import { longestId } from '../../../src/dialects/body/text.ts'
import { isCounted } from '../../../src/domain/counters.ts'
import type { DeploymentImage } from '../../../src/domain/deployment.ts'
import { convergences } from '../../../src/domain/desired.ts'
import type { Revision } from '../../../src/domain/values.ts'
import { createFacetCounts, type FacetLimits } from '../../../src/ingest/duties/facet-counts.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { withScope } from '../../../src/store/read/access-scope.ts'
import { audit } from '../../../src/store/read/audit.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { areCounted, facetsOf } from '../../../src/store/read/counts/facet-counts.ts'
import { type DeploymentFilter, flattened } from '../../../src/store/read/deployment-filter.ts'
import { countConvergence, countDeployments } from '../../../src/store/read/deployments.ts'
import { type DeploymentGroup, pageGroups } from '../../../src/store/read/groups/groups.ts'
import { writeCheckpoints } from '../../../src/store/write/derived/checkpoints.ts'
import { beginFacets, countNext, countPrevious, readFacetState } from '../../../src/store/write/derived/facet-counts.ts'
import { openFresh } from '../../support/databases.ts'
import { stores } from '../../support/stores.ts'
import { errorCodes, foldAll, inSnapshot, live } from './history.ts'
import { buffersOf, fillLog } from './long-log.ts'
import { countsOf } from './reference.ts'

const fleet = { of: 'fleet' } as const
const turn = { now: 0, listeningSince: 0, isOver: () => false }
const small: FacetLimits = { fewest: 0, mostFacets: 1_000, spacing: 7 }

const filters: readonly (readonly [DeploymentFilter, (image: DeploymentImage) => boolean])[] = [
  ...['shop', 'Till%', 'none'].map(
    (name) => [{ applications: [name] }, (d: DeploymentImage) => d.application === name] as const,
  ),
  [{ applications: ['shop', 'Till%', 'shop'] }, (d) => d.application !== null],
  [{ applicationVersions: ['1.1'] }, (d) => d.applicationVersion === '1.1'],
  ...errorCodes.map((code) => [{ errorCodes: [code] }, (d: DeploymentImage) => codesOf(d).includes(code)] as const),
  [{ hasError: true }, (d) => codesOf(d).length > 0],
  [
    { hasError: true, states: ['FAILED', 'PENDING'] },
    (d) => codesOf(d).length > 0 && /^(FAILED|PENDING)$/.test(d.state),
  ],
  [
    { applications: ['shop'], convergence: ['UNKNOWN'] },
    (d) => d.application === 'shop' && d.convergence === 'UNKNOWN',
  ],
  [
    { states: ['FAILED', 'PENDING'], where: { and: [{ hasError: true }, { states: ['FAILED', 'INSTALLED'] }] } },
    (d) => codesOf(d).length > 0 && d.state === 'FAILED',
  ],
  [
    {
      where: {
        applications: ['shop'],
        and: [{ and: [{ applications: ['shop', 'Till%'], convergence: ['UNKNOWN'] }] }],
      },
    },
    (d) => d.application === 'shop' && d.convergence === 'UNKNOWN',
  ],
  [{ applications: ['shop'], where: { applications: ['Till%'] } }, () => false],
]

function codesOf({ error, components }: DeploymentImage): string[] {
  return [error, ...components.map((part) => part.error)].flatMap((one) => (one ? [one.code] : []))
}

function convergenceOf(images: readonly DeploymentImage[]): object {
  const counts = convergences.map((value) => [value, images.filter((d) => d.convergence === value).length] as const)
  return Object.fromEntries(counts.map(([value, n]) => [value.toLowerCase(), n]))
}

it.each(stores)(
  'counts by facet are those of the fold of the log on $name',
  async (store) => {
    const database = await openFresh(store)
    onTestFinished(() => database.close())
    const start = (await readHead(database.session)).revision
    const duty = createFacetCounts(database, small)
    // It begins in the middle, and goes on with what comes and with what was before, and does not end at the last entry.
    await live(database, 21, 80, async (step) => (step < 70 && step % 11 === 10 ? duty.run(turn) : null))
    await expectFold(database, start)
    // A move, a return and a removal are among the entries.
    const kinds = (await readLog(database.session, start, 10_000)).map(({ kind }) => kind)
    expect(kinds).toEqual(
      expect.arrayContaining(['DEPLOYMENT_MOVED', 'DEPLOYMENT_FORGOTTEN', 'COMPONENT_REMOVED', 'DEPLOYMENT_REVISED']),
    )

    // A server of an earlier version writes what its entries do not say: nothing is known until the duty has counted anew.
    const { revision: before } = await readHead(database.session)
    await live(database, 24, 10)
    await database.session.run(
      `update change_log set from_state = null, from_convergence = null, to_state = null, to_convergence = null where first_revision > ${before}`,
    )
    await database.session.run('update log_head set counted_writes = counted_writes - 1')
    expect(await areCounted(database.session, null)).toBe(false)
    await createFacetCounts(database, { ...small, spacing: 1 }).run(turn)
    await live(database, 22, 10)
    const { revision } = await readHead(database.session)
    expect(await areCounted(database.session, revision)).toBe(false)
    await duty.run(turn)
    await live(database, 23, 30)
    await duty.run(turn)
    await expectFold(database, start, revision)
  },
  120_000,
)

it.each(stores)('counts by facet are right while the duty goes back, on $name', async (store) => {
  const database = await openFresh(store)
  onTestFinished(() => database.close())
  const { session } = database
  const start = (await readHead(session)).revision
  await live(database, 25, 30)
  const changes = await readLog(session, start, 10_000)
  // Few can have changed in a small fleet.
  expect(await createFacetCounts(database, { ...small, fewest: 1_000 }).run(turn)).toBe(true)
  expect(await areCounted(session, null)).toBe(false)
  expect(await readFacetState(session)).toMatchObject({ cursor: null, past: null, facets: 0 })
  expect(await beginFacets(database, 1)).toBe(false)
  // Another replica begins between the statements of this one.
  const run: Session['run'] = async (text, parameters) => {
    if (text.startsWith('with begun')) await beginFacets(database, 1_000)
    return session.run(text, parameters)
  }
  expect(await beginFacets({ ...database, session: { ...session, run } }, 1_000)).toBe(true)
  const duty = createFacetCounts(database, { ...small, spacing: 15 })
  // A turn looks for newer entries, and goes one step back.
  const oneStep = (looks = 2) => duty.run({ ...turn, isOver: () => looks-- <= 0 })
  const seen: number[] = []
  for (let isDone = false; !isDone; ) {
    isDone = await oneStep()
    const [{ past } = { past: 0 }] = await session.run<{ past: Revision }>(
      "select cursor as past from duties where name = 'facets-past'",
    )
    seen.push(past)
    for (const revision of [past - 1, past, past + 1].filter((one) => one > start)) {
      expect([past, revision, await areCounted(session, revision)]).toEqual([past, revision, revision >= past])
      const failing = [...foldAll(changes, revision).values()].filter((d) => isCounted(d) && codesOf(d).length > 0)
      const counts = await countDeployments(session, fleet, { hasError: true }, revision)
      expect([past, revision, counts.get(0)]).toEqual([past, revision, countsOf(failing)])
    }
  }
  expect(new Set(seen).size).toBeGreaterThan(3)
  expect(seen.at(-1)).toBe(start)
  // Another replica has made these steps.
  const cursors = () => session.run("select name, cursor from duties where name like 'facets%' order by name")
  const known = await cursors()
  expect(await countNext(session, start, 1)).toBeNull()
  expect(await countPrevious(session, seen[0] ?? 0, start, 15)).toBeNull()
  expect(await cursors()).toEqual(known)
  // Fewer entries than a step has.
  await live(database, 26, 3)
  expect(await countNext(session, changes.at(-1)?.revision ?? 0, 10_000)).toBeNull()
  expect(await cursors()).toEqual(known)
})

/** At every third revision after `since`; also within an entry. */
async function expectFold(database: Database, start: Revision, since = start): Promise<void> {
  const changes = await readLog(database.session, start, 10_000)
  const newest = changes.at(-1)?.revision
  const later = changes.map((change) => change.revision).filter((revision) => revision > since)
  for (const revision of [null, ...later.filter((_, index) => index % 3 === 0)]) {
    expect([revision, await areCounted(database.session, revision)]).toEqual([revision, true])
    const images = [...foldAll(changes, revision ?? newest ?? 0).values()].filter(isCounted)
    for (const [filter, isWanted] of filters) {
      expect(facetsOf(database.session, fleet, flattened(filter))).not.toBeNull()
      const own = images.filter(isWanted)
      const counts = await countDeployments(database.session, fleet, filter, revision)
      expect([revision, filter, counts.get(0)]).toEqual([revision, filter, countsOf(own)])
      const convergence = await countConvergence(database.session, fleet, filter, revision)
      expect([revision, filter, convergence.get(0)]).toEqual([revision, filter, convergenceOf(own)])
    }
  }
  const present = [...foldAll(changes, newest ?? 0).values()].filter(isCounted)
  for (const filter of [{}, { states: ['FAILED', 'PENDING'] }, { convergence: ['UNKNOWN'] }] as const) {
    const isWanted = ({ state, convergence }: DeploymentImage) =>
      (filter.states?.some((one) => one === state) ?? true) &&
      (filter.convergence?.some((one) => one === convergence) ?? true)
    const expected = Map.groupBy(present.filter(isWanted), ({ application }) => application)
    const groups = await groupsByApplication(database.session, filter)
    expect([filter, new Map(groups.map(({ name, counts }) => [name.value, counts]))]).toEqual([
      filter,
      new Map([...expected].map(([name, own]) => [name, countsOf(own)])),
    ])
    for (const { name, convergence } of groups)
      expect(convergence).toEqual(convergenceOf(expected.get(name.value) ?? []))
  }
}

async function groupsByApplication(session: Session, filter: DeploymentFilter): Promise<DeploymentGroup[]> {
  const page = { size: 100, after: null, before: null, backward: false }
  const by = { by: 'APPLICATION', labelKey: null } as const
  const pages = await pageGroups(session, fleet, by, filter, { field: 'SIZE', descending: true }, page, null)
  return pages.get(0)?.edges.map(({ node }) => node) ?? []
}

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
    await session.run(`update change_log set before = json_build_object('state', 'PENDING', 'revision', 1, 'application', 'shop', 'error', json_build_object('code', 'E_DISK', 'message', 'full'))
    where first_revision > ${base + size}`)
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

    // A facet that nobody has any more is forgotten, and counts as none.
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
