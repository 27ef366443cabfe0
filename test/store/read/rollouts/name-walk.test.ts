import { expect, it, onTestFinished } from 'vitest'
import type { Deployment } from '../../../../src/domain/deployment.ts'
import { DomainError } from '../../../../src/domain/errors.ts'
import type { Scope } from '../../../../src/store/read/deployment-scope.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import type { SourceLimits } from '../../../../src/store/read/filters/source.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { stores } from '../../../support/databases/stores.ts'
import { live } from '../history.ts'
import { comparisons } from '../reference.ts'

const filter: DeploymentFilter = { states: ['INSTALLED', 'FAILED'], where: { not: { applications: ['shop'] } } }
const isMeant = ({ state, application }: Deployment): boolean =>
  (state === 'INSTALLED' || state === 'FAILED') && application !== 'shop'

it.each(stores)('a list of one rollout by name shows each row, or is refused, on $name', async (store) => {
  const database = await openFresh(store)
  onTestFinished(() => database.close())
  const { moments } = await live(database, 7, 90)
  const present = (moments.at(-1)?.deployments ?? []).filter(({ forgottenAt }) => forgottenAt === null)
  let refused = 0
  for (const key of new Set(present.map(({ rolloutKey }) => rolloutKey)))
    for (const walked of [1, 3])
      for (const order of ['NAME', 'NAME_DESC'] as const)
        for (const size of [2, 100]) {
          const limits: SourceLimits = { small: 0, candidates: 0, walked, counted: 0, scanned: 0 }
          const page = { size, after: null, before: null, backward: walked === 3 }
          const all = present
            .filter((deployment) => deployment.rolloutKey === key && isMeant(deployment))
            .toSorted(comparisons[order])
            .map((deployment) => deployment.key)
          const expected = page.backward ? all.slice(-size) : all.slice(0, size)
          const questions: readonly (readonly [Scope, DeploymentFilter])[] = [
            [{ of: 'rollout', keys: [key] }, filter],
            [{ of: 'fleet' }, { ...filter, rolloutKeys: [key] }],
          ]
          for (const [scope, asked] of questions) {
            const pages = await pageDeployments(database.session, scope, asked, order, page, null, limits).catch(
              (error: unknown) => {
                expect(error).toBeInstanceOf(DomainError)
                refused += 1
                return null
              },
            )
            if (!pages) continue
            const [found] = pages.values()
            expect(found?.edges.map(({ node }) => node.key)).toEqual(expected)
          }
        }
  expect(refused).toBeGreaterThan(10)
})
