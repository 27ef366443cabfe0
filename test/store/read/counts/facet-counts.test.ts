/** Counts by facet equal the fold of the log at each revision. */
import { expect, it, onTestFinished } from 'vitest'
import { isCounted } from '../../../../src/domain/counters.ts'
import type { DeploymentImage } from '../../../../src/domain/deployment.ts'
import { convergences } from '../../../../src/domain/desired.ts'
import type { Revision } from '../../../../src/domain/values.ts'
import { createFacetCounts, type FacetLimits } from '../../../../src/ingest/duties/facet-counts.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../../src/store/database.ts'
import { step } from '../../../../src/store/projection.ts'
import { readLog } from '../../../../src/store/read/changes/changes.ts'
import { countConvergence, countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { areCounted, facetsOf } from '../../../../src/store/read/counts/facet-counts.ts'
import { type DeploymentFilter, flattened } from '../../../../src/store/read/filters/deployment-filter.ts'
import { sourceLimits } from '../../../../src/store/read/filters/source.ts'
import { nestedGroups } from '../../../../src/store/read/groups/nested-groups.ts'
import {
  beginFacets,
  countPrevious,
  facetsProjection,
  readFacetState,
} from '../../../../src/store/write/derived/facet-counts.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { stores } from '../../../support/databases/stores.ts'
import { isDeep, someOf } from '../../../support/runner/depth.ts'
import { errorCodes, foldAll, live } from '../history.ts'
import { countsOf } from '../reference.ts'
import { groupsByApplication } from './application-groups.ts'

const fleet = { of: 'fleet' } as const
const byConvergence = { by: 'CONVERGENCE', labelKey: null } as const
const bySize = { field: 'SIZE', descending: true } as const
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

it.each(stores)('counts by facet are those of the fold of the log on $name', async (store) => {
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

  // Retention has removed entries that the duty has not counted: nothing is known until it has counted anew.
  await live(database, 24, 10)
  await database.session.run('update log_head set tail = revision')
  expect(await areCounted(database.session, null)).toBe(false)
  await live(database, 22, 10)
  const { revision } = await readHead(database.session)
  expect(await areCounted(database.session, revision)).toBe(false)
  await duty.run(turn)
  await live(database, 23, 30)
  await duty.run(turn)
  await expectFold(database, start, revision)
})

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
  // A turn goes one step back.
  const oneStep = (looks = 1) => duty.run({ ...turn, isOver: () => looks-- <= 0 })
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
  expect(await countPrevious(session, seen[0] ?? 0, start, 15)).toBeNull()
  expect(await cursors()).toEqual(known)
  // Fewer entries than a step has.
  await live(database, 26, 3)
  expect(await step(database, facetsProjection, 10_000)).toBeNull()
  expect(await cursors()).toEqual(known)
})

/** At every third revision after `since`, of a whole run every ninth, of the quick suite every 27th; also within an entry. */
async function expectFold(database: Database, start: Revision, since = start): Promise<void> {
  const changes = await readLog(database.session, start, 10_000)
  const newest = changes.at(-1)?.revision
  const later = changes.map((change) => change.revision).filter((revision) => revision > since)
  for (const revision of [null, ...later.filter((_, index) => index % (isDeep ? 3 : someOf(27, 9)) === 0)]) {
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
    // The deployments of the groups have not been read. Without the group that has no name, an index finds them.
    for (const outer of [groups, groups.filter(({ name }) => name.value !== null)]) {
      const nested = await nestedGroups(
        database.session,
        outer,
        { of: 'fleet', filter, asOf: null },
        byConvergence,
        bySize,
        100,
        {
          ...sourceLimits,
          small: 0,
        },
      )
      for (const [index, { name }] of outer.entries()) {
        const own = Map.groupBy(expected.get(name.value) ?? [], ({ convergence }) => convergence)
        const found = nested.get(index)?.edges.map(({ node }) => [node.name.value, node.counts] as const)
        expect([filter, name, new Map(found)]).toEqual([
          filter,
          name,
          new Map([...own].map(([value, some]) => [value, countsOf(some)])),
        ])
      }
    }
  }
}
