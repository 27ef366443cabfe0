/**
 * Lists, counts and groups of deployments, and resources, agree with each other and with the log at every revision, whatever happens to the fleet
 * (all-acts.ts). More runs: ROLLCALL_MODEL_RUNS.
 */
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Change } from '../../../src/domain/change.ts'
import type { Deployment } from '../../../src/domain/deployment.ts'
import { convergences } from '../../../src/domain/desired.ts'
import type { Resource } from '../../../src/domain/orchestration/resource.ts'
import type { Revision } from '../../../src/domain/values.ts'
import { createFacetCounts } from '../../../src/ingest/duties/facet-counts.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Session } from '../../../src/store/database.ts'
import { step as makeStep } from '../../../src/store/projection.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { countConvergence, countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import type { Scope } from '../../../src/store/read/deployment-scope.ts'
import { deploymentsByKey, pageDeployments } from '../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../src/store/read/filters/deployment-filter.ts'
import { type DeploymentGroup, pageGroups } from '../../../src/store/read/groups/groups.ts'
import { nestedGroups } from '../../../src/store/read/groups/nested-groups.ts'
import { countResources, pageResources, sumOfReadiness } from '../../../src/store/read/orchestration/resources.ts'
import { deploymentOrders } from '../../../src/store/read/orders/deployment-order.ts'
import { targetsByKey } from '../../../src/store/read/targets/targets.ts'
import { type ResourceRecord, toResource } from '../../../src/store/sql/rows-orchestration.ts'
import { writeCheckpoints } from '../../../src/store/write/derived/checkpoints.ts'
import { searchProjection } from '../../../src/store/write/derived/search-entries.ts'
import { everyStore } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { anyAct, instanceIds } from './all-acts.ts'
import { limits, ownerOf, searched } from './deployments/questions.ts'
import { foldAll, live } from './history.ts'
import { comparisons, countsOf, filters, matches, some } from './reference.ts'

const runs = Math.ceil(Number(process.env.ROLLCALL_MODEL_RUNS ?? 12) / 12)
const page = { size: 100, after: null, before: null, backward: false }
const turn = { now: 0, listeningSince: 0, isOver: () => false }

/** By what a deployment can be grouped, and the groups that it belongs to. */
const groupings = {
  APPLICATION: ({ application }) => [application],
  COMPONENT: ({ components }) => components.map(({ name }) => name),
  CONVERGENCE: ({ convergence }) => [convergence],
  MANIFEST_VERSION: ({ adoptedManifestVersion }) => [adoptedManifestVersion],
  ROLLOUT: ({ rolloutKey }) => [String(rolloutKey)],
  TARGET: ({ targetKey }) => [String(targetKey)],
} as const satisfies Record<string, (d: Deployment) => readonly (string | null)[]>
const groupingNames = Object.keys(groupings) as (keyof typeof groupings)[]

describe.each(everyStore)('a fleet with orchestrators on $name', (store) => {
  it('has lists, counts and groups that agree at every revision', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const empty = await store.create()
        const database = await empty.open()
        onTestFinished(async () => {
          await database.close()
          await empty.drop()
        })
        const { session } = database
        const start = (await readHead(session)).revision
        const facets = createFacetCounts(database, { fewest: 0, mostFacets: 1_000, spacing: 7 })
        const seen = new Map<Revision, readonly Resource[]>()
        const life = await live(
          database,
          seed,
          someOf(30, 60),
          async (step) => {
            const { revision } = await readHead(session)
            seen.set(revision, await readResources(session))
            if (step % 13 === 10) await facets.run(turn)
            if (step % 17 === 5) await makeStep(database, searchProjection, 1_000)
            if (step % 29 === 28)
              await writeCheckpoints(database, revision, [0, ...(await keysOf(session, 'rollouts'))])
          },
          anyAct,
        )
        expect(await audit(session)).toEqual([])
        const present = life.moments.at(-1)?.deployments ?? []
        const changes = await readLog(session, start, 10_000)
        const targets = await targetsByKey(session, await keysOf(session, 'targets'))
        const then = (asOf: Revision | null): readonly Deployment[] => {
          if (asOf === null) return present
          const images = foldAll(changes, asOf)
          return present.flatMap((d) => (images.has(d.key) ? [{ ...d, ...images.get(d.key) }] : []))
        }
        for (const { revision } of changes) await expectImages(session, revision, then(revision))
        for (const [revision, rows] of [...seen].filter((_, index) => index % 4 === 3))
          await expectResources(session, revision, rows, then(revision))
        await expectResources(session, null, await readResources(session), present)

        const [rollouts, instances] = [await keysOf(session, 'rollouts'), await keysOf(session, 'instances')]
        const times = present.map(({ changedAt }) => changedAt)
        const filter: fc.Arbitrary<DeploymentFilter> = fc.oneof(
          fc.constant({}),
          fc.record({ instanceIds: some(instanceIds) }),
          fc.record({ clusters: some(['x+east', '+west', 'region-b-1']) }),
          filters(await keysOf(session, 'deployments'), rollouts, times),
          searched,
        )
        const question = fc.record({
          filter,
          scope: fc.constantFrom<Scope>(
            ...[{ of: 'fleet' } as const, { of: 'rollout', keys: rollouts } as const],
            ...[{ of: 'target', keys: [...targets.keys()] } as const, { of: 'instance', keys: instances } as const],
          ),
          order: fc.constantFrom(...deploymentOrders),
          limits: fc.constantFrom(...limits),
          by: fc.constantFrom(...groupingNames),
          inner: fc.constantFrom(...groupingNames),
          asOf: fc.constantFrom(null, ...changes.map(({ revision }) => revision)),
        })
        for (const asked of fc.sample(question, { numRuns: someOf(25, 60), seed })) {
          const { scope, filter, order, limits, by, inner, asOf } = asked
          const isWhole = scope.of === 'instance' || filter.instanceIds !== undefined
          const inMaintenance = maintainedAt(changes, asOf)
          const listed = then(asOf).filter((d) => {
            const present = targets.get(d.targetKey)
            const target = present && { ...present, maintenanceKey: inMaintenance.get(d.targetKey) ?? null }
            return d.forgottenAt === null && (d.isCurrent || isWhole) && target && matches(filter, d, target)
          })
          const own = (parent: number) => listed.filter((d) => ownerOf(scope, d) === parent)
          for (const [parent, { edges }] of await pageDeployments(session, scope, filter, order, page, asOf, limits))
            expect([asked, edges.map(({ node }) => node.key)]).toEqual([
              asked,
              own(parent)
                .toSorted(comparisons[order])
                .map(({ key }) => key),
            ])
          for (const [parent, counts] of await countDeployments(session, scope, filter, asOf, limits))
            expect([asked, counts]).toEqual([asked, countsOf(own(parent))])
          for (const [parent, counts] of await countConvergence(session, scope, filter, asOf))
            expect([asked, counts]).toEqual([asked, convergenceOf(own(parent))])
          const byValue = { field: 'VALUE', descending: false } as const
          const grouping = { by, labelKey: null }
          const pages = await pageGroups(session, { scope, by: grouping, filter, asOf }, byValue, page, limits)
          for (const [parent, { edges }] of pages)
            expect([asked, edges.map(({ node }) => sizeOf(node)).toSorted()]).toEqual([
              asked,
              sizesOf(own(parent).flatMap<string | null>(groupings[by])),
            ])
          const groups = [...pages.values()].flatMap(({ edges }) => edges.map(({ node }) => node))
          const inside = { by: inner, labelKey: null }
          const nested = await nestedGroups(
            session,
            groups,
            { of: scope.of, filter, asOf },
            inside,
            byValue,
            100,
            limits,
          )
          for (const [index, { edges }] of nested) {
            const { parent, name } = groups[index] ?? expect.unreachable()
            const members = own(parent).filter((d) => groupings[by](d).some((value) => value === name.value))
            expect([asked, name, edges.map(({ node }) => sizeOf(node)).toSorted()]).toEqual([
              asked,
              name,
              sizesOf(members.flatMap<string | null>(groupings[inner])),
            ])
          }
        }
      }),
      // In this life, a page by name of few instances was read in another order.
      { numRuns: someOf(1, runs + 1), examples: [[2]] },
    )
  })
})

/** The window that each target was in at a revision. */
function maintainedAt(changes: readonly Change[], asOf: Revision | null): ReadonlyMap<number, number> {
  const inside = new Map<number, number>()
  for (const change of changes) {
    if (change.revision > (asOf ?? change.revision) || change.targetKey === null) continue
    if (change.kind === 'MAINTENANCE_STARTED') inside.set(change.targetKey, change.maintenanceKey)
    if (change.kind === 'MAINTENANCE_ENDED') inside.delete(change.targetKey)
  }
  return inside
}

async function keysOf(
  session: Session,
  table: 'deployments' | 'instances' | 'rollouts' | 'targets',
): Promise<number[]> {
  return (await session.run<{ key: number }>(`select key from ${table} order by key`)).map(({ key }) => key)
}

async function readResources(session: Session): Promise<Resource[]> {
  return (await session.run<ResourceRecord>('select * from resources order by key')).map(toResource)
}

async function expectImages(session: Session, revision: Revision, images: readonly Deployment[]): Promise<void> {
  const keys = images.map(({ key }) => key)
  const found = await deploymentsByKey(session, keys, revision)
  expect([...found.keys()].toSorted((a, b) => a - b)).toEqual(keys)
  for (const { key, reportedAt: _, receivedAt: __, marks: ___, ...image } of images)
    expect([revision, found.get(key)]).toEqual([revision, expect.objectContaining(pastOf(image))])
}

/** Not part of the past: who declared it, and who has claimed it. */
function pastOf({ declaredComponents: _, claimed: __, ...image }: Partial<Deployment>): Partial<Deployment> {
  return image
}

/** Of each deployment that an orchestrator runs. */
async function expectResources(
  session: Session,
  asOf: Revision | null,
  rows: readonly Resource[],
  deployments: readonly Deployment[],
): Promise<void> {
  const keys = deployments.flatMap(({ key, instanceKey }) => (instanceKey === null ? [] : [key]))
  const scope = { of: 'deployment', keys } as const
  const pages = await pageResources(session, scope, {}, page, asOf)
  const [counted, recounted] = [{}, { text: '' }].map((filter) => countResources(session, scope, filter, asOf))
  const sums = await sumOfReadiness(session, scope, asOf)
  for (const { key, readiness } of deployments.filter(({ instanceKey }) => instanceKey !== null)) {
    const own = rows.filter(({ deploymentKey, goneAt }) => deploymentKey === key && goneAt === null)
    expect([asOf, pages.get(key)?.edges.map(({ node }) => statusOf(node))]).toEqual([asOf, own.map(statusOf)])
    const counts = (await counted)?.get(key)
    expect([asOf, counts?.total, counts]).toEqual([asOf, own.length, (await recounted)?.get(key)])
    expect([asOf, key, sums.get(key)]).toEqual([asOf, key, readiness])
  }
}

function statusOf({ key, sync, presence, readiness }: Resource): object {
  return { key, sync, presence, readiness }
}

function convergenceOf(deployments: readonly Deployment[]): object {
  const counts = convergences.map((value) => [
    value.toLowerCase(),
    deployments.filter((d) => d.convergence === value).length,
  ])
  return Object.fromEntries(counts)
}

function sizeOf({ name, size }: DeploymentGroup): string {
  return `${name.value} ${size}`
}

function sizesOf(values: readonly (string | null)[]): string[] {
  const sizes = Map.groupBy(values, (value) => value)
  return [...sizes].map(([value, members]) => `${value} ${members.length}`).toSorted()
}
