import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isCounted } from '../../../../src/domain/counters.ts'
import type { Deployment, DeploymentImage } from '../../../../src/domain/deployment.ts'
import { convergences } from '../../../../src/domain/desired.ts'
import type { Revision } from '../../../../src/domain/values.ts'
import type { Database } from '../../../../src/store/database.ts'
import { readLog } from '../../../../src/store/read/changes/changes.ts'
import { countConvergence, countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import type { Scope } from '../../../../src/store/read/deployment-scope.ts'
import { deploymentsByKey, pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { resolvePast } from '../../../../src/store/read/past.ts'
import type { ShownDeployment } from '../../../../src/store/sql/rows.ts'
import { writeCheckpoints } from '../../../../src/store/write/derived/checkpoints.ts'
import { type EmptyStore, everyStore } from '../../../support/databases/stores.ts'
import { isDeep, runs, someOf } from '../../../support/runner/depth.ts'
import { devices, foldAll, inSnapshot, type Life, live } from '../history.ts'
import { countsOf } from '../reference.ts'

const firstPage = { size: 100, after: null, before: null, backward: false }

describe.each(everyStore)('the past on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let life: Life
  let start: Revision

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    start = await inSnapshot(database, async ({ head }) => (await head).revision)
    life = await live(database, 11, runs(someOf(10, 24), 60))
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('is what was recorded of the present then, by key and in lists', async () => {
    for (const { revision, deployments } of life.moments) {
      const keys = deployments.map(({ key }) => key)
      const found = await deploymentsByKey(database.session, [...keys, 999_999], revision)
      expect([...found.keys()].sort((a, b) => a - b)).toEqual(keys)
      for (const deployment of deployments) expect(pastOf(found.get(deployment.key))).toEqual(pastOf(deployment))
      const listed = await list({ of: 'fleet' }, revision)
      const present = deployments.filter(({ forgottenAt }) => forgottenAt === null)
      expect(listed.map(pastOf)).toEqual(present.toSorted((a, b) => b.revision - a.revision).map(pastOf))
    }
  })

  it('is the fold of the log at every single revision, also within an entry', async () => {
    const changes = await readLog(database.session, start, 10_000)
    for (const { revision } of changes) {
      const images = foldAll(changes, revision)
      const found = await deploymentsByKey(database.session, [...images.keys()], revision)
      expect(found.size).toBe([...images.keys()].length)
      for (const [key, image] of images) expect(found.get(key)).toMatchObject(withoutClock(image))
    }
  })

  it('has lists and counts of the fleet, each rollout and each target, also within an entry', async () => {
    const changes = await readLog(database.session, start, 10_000)
    const last = life.moments.at(-1)?.deployments ?? []
    const scopes: readonly { readonly scope: Scope; readonly ownerOf: (image: DeploymentImage) => number }[] = [
      { scope: { of: 'fleet' }, ownerOf: () => 0 },
      { scope: { of: 'rollout', keys: unique(last.map((d) => d.rolloutKey)) }, ownerOf: (d) => d.rolloutKey },
      { scope: { of: 'target', keys: unique(last.map((d) => d.targetKey)) }, ownerOf: (d) => d.targetKey },
    ]
    for (const { revision } of changes.filter((_, index) => index % someOf(3, 1) === 0)) {
      const images = [...foldAll(changes, revision)].filter(([, image]) => image.forgottenAt === null)
      for (const { scope, ownerOf } of scopes) {
        const pages = await pageDeployments(database.session, scope, {}, 'CHANGED_DESC', firstPage, revision)
        const counted = await countDeployments(database.session, scope, {}, revision)
        const filtered = await countDeployments(database.session, scope, { consistent: true }, revision)
        for (const [parent, page] of pages) {
          const own = images.filter(([, image]) => ownerOf(image) === parent)
          const newest = own.toSorted(([, a], [, b]) => b.revision - a.revision)
          expect(page.edges.map(({ node }) => node.key)).toEqual(newest.map(([key]) => key))
          expect(counted.get(parent)).toEqual(countsOf(own.map(([, image]) => image)))
          expect(filtered.get(parent)).toEqual(countsOf(own.map(([, image]) => image).filter((d) => d.consistent)))
        }
      }
    }
  })

  it.each(['without', 'with'] as const)(
    'counts by state and convergence %s checkpoints, each restricted by the other',
    async (how) => {
      if (how === 'with') await checkpointEach(database, start)
      await expectTallies(database, start)
    },
  )

  it('has lists and counts of the subjects that a filter names, also of those that left them', async () => {
    const changes = await readLog(database.session, start, 10_000)
    const last = life.moments.at(-1)?.deployments ?? []
    const names = await database.session.run<{ key: number; name: string }>('select key, name from targets')
    const nameOf = new Map(names.map(({ key, name }) => [key, name]))
    const labelled = await database.session.run<{ key: number }>(
      `select key from targets where labels @> '[{"key": "site", "value": "north"}]'`,
    )
    const northern = new Set(labelled.map(({ key }) => key))
    expect(northern.size).toBeGreaterThan(0)
    const deploymentOf = new Map(last.map((deployment) => [deployment.key, deployment]))
    for (const { revision } of changes.filter((_, index) => index % someOf(18, 6) === 2)) {
      const images = [...foldAll(changes, revision)].filter(([, image]) => isCounted(image))
      const wanted: readonly (readonly [DeploymentFilter, (key: number, image: DeploymentImage) => boolean])[] = [
        ...unique(last.map((d) => d.rolloutKey)).map(
          (key) =>
            [
              { rolloutKeys: [key], consistent: true },
              (_: number, d: DeploymentImage) => d.rolloutKey === key && d.consistent,
            ] as const,
        ),
        ...devices.map(
          (name) =>
            [{ deviceIds: [name] }, (_: number, d: DeploymentImage) => nameOf.get(d.targetKey) === name] as const,
        ),
        [{ deploymentIds: ['web', 'db'] }, (key) => ['web', 'db'].includes(deploymentOf.get(key)?.deploymentId ?? '')],
        [{ reporters: ['gw'] }, (key) => deploymentOf.get(key)?.reporter === 'gw'],
        [{ states: ['FAILED'], consistent: true }, (_, d) => d.state === 'FAILED' && d.consistent],
        [
          { where: { and: [{ convergence: ['APPLYING', 'STALE'] }] } },
          (_, d) => /^(APPLYING|STALE)$/.test(d.convergence),
        ],
        ...unique(last.map((d) => d.rolloutKey)).map(
          (key) =>
            [
              { rolloutKeys: [key], where: { states: ['INSTALLED', 'PENDING'] } },
              (_: number, d: DeploymentImage) => d.rolloutKey === key && /^(INSTALLED|PENDING)$/.test(d.state),
            ] as const,
        ),
        [{ labels: [{ key: 'site', value: 'north' }] }, (_, d) => northern.has(d.targetKey)],
        [{ keys: [1, 5, 9, 20] }, (key) => [1, 5, 9, 20].includes(key)],
      ]
      for (const [filter, isWanted] of wanted) {
        const own = images.filter(([key, image]) => isWanted(key, image))
        const counted = await countDeployments(database.session, { of: 'fleet' }, filter, revision)
        expect(counted.get(0)).toEqual(countsOf(own.map(([, image]) => image)))
        const pages = await pageDeployments(
          database.session,
          { of: 'fleet' },
          filter,
          'CHANGED_DESC',
          firstPage,
          revision,
        )
        expect(
          pages
            .get(0)
            ?.edges.map(({ node }) => node.key)
            .sort(),
        ).toEqual(own.map(([key]) => key).sort())
      }
    }
  })

  it('takes a time for the newest revision at or before it', async () => {
    await inSnapshot(database, async (snapshot) => {
      for (const { at } of life.moments) {
        const newest = life.moments.findLast((moment) => moment.at <= at)?.revision
        expect(await resolvePast(snapshot, { asOf: at, atRevision: null })).toBe(newest)
      }
      expect(await resolvePast(snapshot, { asOf: null, atRevision: null })).toBeNull()
      expect(await resolvePast(snapshot, { asOf: Date.now() + 1e9, atRevision: null })).toBe(
        (await snapshot.head).revision,
      )
      const { revision } = await snapshot.head
      expect(await resolvePast(snapshot, { asOf: null, atRevision: String(revision) })).toBe(revision)
      expect(await resolvePast(snapshot, { asOf: null, atRevision: String(start) })).toBe(start)
    })
  })

  it('refuses what it cannot answer exactly', async () => {
    await inSnapshot(database, async (snapshot) => {
      const refuse = (asOf: number | null, atRevision: string | null, code: string) =>
        expect(resolvePast(snapshot, { asOf, atRevision })).rejects.toMatchObject({ code })
      await refuse(null, String((await snapshot.head).revision + 1), 'HISTORY_EXPIRED')
      await refuse(null, String(start - 1), 'HISTORY_EXPIRED')
      await refuse(null, '99999999999999999999999', 'HISTORY_EXPIRED')
      await refuse((await snapshot.head).tailAt - 1, null, 'HISTORY_EXPIRED')
      await refuse(null, '12x', 'BAD_USER_INPUT')
      await refuse(0, '12', 'BAD_USER_INPUT')
    })
  })

  async function list(scope: Scope, asOf: Revision): Promise<ShownDeployment[]> {
    const pages = await pageDeployments(database.session, scope, {}, 'CHANGED_DESC', firstPage, asOf)
    return [...pages.values()].flatMap(({ edges }) => edges.map(({ node }) => node))
  }
})

/** Holds counts as of every third revision, of the quick suite every ninth, and of the present, against the fold of the log. */
async function expectTallies(database: Database, start: Revision): Promise<void> {
  const changes = await readLog(database.session, start, 10_000)
  const everything = [...foldAll(changes, Number.MAX_SAFE_INTEGER).values()]
  const rollouts = unique(everything.map((image) => image.rolloutKey))
  const scopes: readonly Scope[] = [{ of: 'fleet' }, { of: 'rollout', keys: rollouts }]
  const filters: readonly DeploymentFilter[] = [
    {},
    { states: ['INSTALLED', 'FAILED'] },
    { convergence: ['UNKNOWN', 'APPLYING'] },
    { states: ['PENDING', 'FAILED'], convergence: ['UNKNOWN'], rolloutKeys: rollouts.slice(1) },
  ]
  for (const revision of [
    null,
    ...changes.filter((_, index) => index % (isDeep ? 3 : 9) === 1).map((change) => change.revision),
  ]) {
    const images = [...foldAll(changes, revision ?? Number.MAX_SAFE_INTEGER).values()].filter(isCounted)
    for (const scope of scopes)
      for (const filter of filters) {
        const states = await countDeployments(database.session, scope, filter, revision)
        const convergence = await countConvergence(database.session, scope, filter, revision)
        for (const [parent, counts] of states) {
          const own = images.filter((image) => (parent === 0 || image.rolloutKey === parent) && isIn(filter, image))
          expect([revision, filter, counts]).toEqual([revision, filter, countsOf(own)])
          const byConvergence = convergences.map((value) => [
            value.toLowerCase(),
            own.filter((image) => image.convergence === value).length,
          ])
          expect(convergence.get(parent)).toEqual(Object.fromEntries(byConvergence))
        }
      }
  }
}

function isIn({ states, convergence, rolloutKeys }: DeploymentFilter, image: DeploymentImage): boolean {
  return (
    (states?.includes(image.state) ?? true) &&
    (convergence?.includes(image.convergence) ?? true) &&
    (rolloutKeys?.includes(image.rolloutKey) ?? true)
  )
}

/** Writes checkpoints of the fleet and of all rollouts at every ninth revision. */
async function checkpointEach(database: Database, start: Revision): Promise<void> {
  const changes = await readLog(database.session, start, 10_000)
  const places = changes.filter((_, index) => index % 9 === 4).map(({ revision }) => revision)
  const rollouts = unique(changes.flatMap(({ rolloutKey }) => rolloutKey ?? []))
  for (const place of places) await writeCheckpoints(database, place, [0, ...rollouts])
}

/** What the past answers as it was; the rest of a deployment is the present's. */
function pastOf(deployment: ShownDeployment | Deployment | undefined): Partial<ShownDeployment> | undefined {
  if (!deployment) return undefined
  const { reporter, declaredComponents, claimed, receivedAt, marks, reportedAt, ...rest } = deployment as Deployment
  const { asOf: _, ...past } = { asOf: null, ...rest }
  return past
}

function withoutClock({ reportedAt: _, ...image }: DeploymentImage): Partial<DeploymentImage> {
  return image
}

function unique<T>(list: readonly T[]): T[] {
  return [...new Set(list)]
}
