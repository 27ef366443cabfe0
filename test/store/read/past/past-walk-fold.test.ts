/** Lists in the past that are read in their order, and groups, are those of the fold of the log, at each of its revisions. */
import { expect, it, onTestFinished } from 'vitest'
import { isCounted } from '../../../../src/domain/counters.ts'
import type { DeploymentImage } from '../../../../src/domain/deployment.ts'
import { deploymentStates } from '../../../../src/domain/values.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import { step } from '../../../../src/store/projection.ts'
import { readLog } from '../../../../src/store/read/changes/changes.ts'
import type { Scope } from '../../../../src/store/read/deployment-scope.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { sourceLimits } from '../../../../src/store/read/filters/source.ts'
import { countGroups, pageGroups } from '../../../../src/store/read/groups/groups.ts'
import type { DeploymentOrder } from '../../../../src/store/read/orders/deployment-order.ts'
import type { PageRequest } from '../../../../src/store/sql/order.ts'
import { summariesProjection } from '../../../../src/store/write/derived/change-summaries.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { stores } from '../../../support/databases/stores.ts'
import { foldAll, live } from '../history.ts'

const first: PageRequest = { size: 20, after: null, before: null, backward: false }

const bySize = { field: 'SIZE', descending: true } as const
const groupedBy = [
  ['ROLLOUT', ({ rolloutKey }: DeploymentImage) => String(rolloutKey)],
  ['CONVERGENCE', ({ convergence }: DeploymentImage) => convergence],
] as const
const filtersOfGroups = (
  key: number,
): readonly (readonly [DeploymentFilter, (image: DeploymentImage) => boolean])[] => [
  [{}, () => true],
  [
    { rolloutKeys: [key], states: ['FAILED', 'PENDING'] },
    ({ rolloutKey, state }) => rolloutKey === key && (state === 'FAILED' || state === 'PENDING'),
  ],
  [{ convergence: ['UNKNOWN'] }, ({ convergence }) => convergence === 'UNKNOWN'],
]

it.each(stores)(
  'lists that walk the log or the names, and groups from counters, are those of the fold, also within an entry, on $name',
  async (store) => {
    const database = await openFresh(store)
    onTestFinished(() => database.close())
    const start = (await readHead(database.session)).revision
    const { moments } = await live(database, 11, 25)
    while (await step(database, summariesProjection, 7));
    const changes = await readLog(database.session, start, 10_000)
    const rollouts = [...new Set(moments.at(-1)?.deployments.map(({ rolloutKey }) => rolloutKey))]
    // Nothing is unwound that the list does not pass.
    const limits = { ...sourceLimits, candidates: 0, counted: 0, scanned: 0 }
    const shown = (images: readonly (readonly [number, DeploymentImage])[]) =>
      images.map(([key, { state }]) => [key, state] as const)
    for (const [index, { revision }] of changes.entries()) {
      const list = async (scope: Scope, order: DeploymentOrder, filter: DeploymentFilter = {}, candidates = 0) => {
        const pages = await pageDeployments(database.session, scope, filter, order, { ...first, size: 100 }, revision, {
          ...limits,
          candidates,
        })
        return [...pages.values()][0]?.edges.map(({ node }) => [node.key, node.state] as const)
      }
      const images = [...foldAll(changes, revision)].filter(([, image]) => image.forgottenAt === null)
      const newest = images.toSorted(([, a], [, b]) => b.revision - a.revision)
      expect(await list({ of: 'fleet' }, 'CHANGED_DESC')).toEqual(shown(newest))
      expect((await list({ of: 'fleet' }, 'NAME'))?.toSorted(([a], [b]) => a - b)).toEqual(
        shown(images.toSorted(([a], [b]) => a - b)),
      )
      if (index % 6 === 0) {
        const rank = deploymentStates.indexOf.bind(deploymentStates)
        const byState = newest.toSorted(([, a], [, b]) => rank(a.state) - rank(b.state))
        // With more candidates than deployments, each state is found by the first entries since.
        for (const candidates of [0, 3, 100])
          expect(await list({ of: 'fleet' }, 'STATE', {}, candidates)).toEqual(shown(byState))
        const states = ['FAILED', 'INSTALLED', 'REMOVED'] as const
        const some = newest.filter(([, { state }]) => states.some((one) => one === state))
        for (const candidates of [0, 100])
          expect(await list({ of: 'fleet' }, 'CHANGED_ASC', { states }, candidates)).toEqual(shown(some.toReversed()))
      }
      const counted = images.filter(([, image]) => isCounted(image))
      // The last change is the present, too.
      const ats = revision === changes.at(-1)?.revision ? [revision, null] : [revision]
      for (const [filter, matches] of filtersOfGroups(rollouts[0] ?? 0))
        for (const [by, keyOf] of groupedBy)
          for (const at of ats) {
            const [read, page] = [
              { by, labelKey: null },
              { ...first, size: 100 },
            ]
            const pages = await pageGroups(
              database.session,
              { scope: { of: 'fleet' }, by: read, filter, asOf: at },
              bySize,
              page,
              limits,
            )
            const groups = pages
              .get(0)
              ?.edges.map(({ node }) => [node.name.value, node.size, node.counts.failed, node.convergence.unknown])
            const grouped = Map.groupBy(counted.map(([, image]) => image).filter(matches), keyOf)
            const expected = [...grouped].map(([value, some]) => [
              value,
              some.length,
              some.filter(({ state }) => state === 'FAILED').length,
              some.filter(({ convergence }) => convergence === 'UNKNOWN').length,
            ])
            expect(new Set(groups)).toEqual(new Set(expected))
            expect(await countGroups(database.session, { scope: { of: 'fleet' }, by: read, filter, asOf: at })).toEqual(
              new Map([[0, expected.length]]),
            )
          }
      for (const key of rollouts)
        expect(await list({ of: 'rollout', keys: [key] }, 'CHANGED_ASC')).toEqual(
          shown(newest.filter(([, image]) => image.rolloutKey === key).toReversed()),
        )
    }
  },
)
