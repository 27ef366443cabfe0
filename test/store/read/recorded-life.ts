/** A life of a small fleet, stored and recorded, and random questions about it. */
import fc from 'fast-check'
import type { Deployment } from '../../../src/domain/deployment.ts'
import type { Target } from '../../../src/domain/target.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { step as makeStep } from '../../../src/store/projection.ts'
import type { Scope } from '../../../src/store/read/deployment-scope.ts'
import { pageDeployments } from '../../../src/store/read/deployments.ts'
import { deploymentOrders } from '../../../src/store/read/orders/deployment-order.ts'
import { targetsByKey } from '../../../src/store/read/targets/targets.ts'
import type { Page, PageRequest } from '../../../src/store/sql/order.ts'
import type { ShownDeployment } from '../../../src/store/sql/rows.ts'
import { summariesProjection } from '../../../src/store/write/derived/change-summaries.ts'
import { searchProjection } from '../../../src/store/write/derived/search-entries.ts'
import { limits, ownerOf, type Question } from './deployments/questions.ts'
import { type Life, live } from './history.ts'
import { comparisons, filters, matches } from './reference.ts'

export interface RecordedLife {
  readonly life: Life
  readonly present: readonly Deployment[]
  readonly targets: Map<number, Target>
  readonly questions: fc.Arbitrary<Question>
}

export async function recordLife(database: Database): Promise<RecordedLife> {
  // What duties derive is out of date in part, and lacks what is new.
  const life = await live(database, 5, 90, async (step) => {
    if (step % 25 !== 24) return
    await makeStep(database, searchProjection, 1_000)
    while (await makeStep(database, summariesProjection, 5));
  })
  const present = life.moments.at(-1)?.deployments ?? []
  const targetKeys = present.map(({ targetKey }) => targetKey)
  const targets = await targetsByKey(database.session, targetKeys)
  const rolloutKeys = present.map(({ rolloutKey }) => rolloutKey)
  const times = present.map(({ changedAt }) => changedAt)
  const keys = present.map(({ key }) => key)
  const questions: fc.Arbitrary<Question> = fc.record({
    scope: fc.constantFrom<Scope>(
      { of: 'fleet' },
      { of: 'rollout', keys: rolloutKeys },
      { of: 'target', keys: targetKeys },
      { of: 'instance', keys: [1] },
    ),
    filter: fc.oneof(fc.constant({}), filters(keys, rolloutKeys, times)),
    order: fc.constantFrom(...deploymentOrders),
    asOf: fc.oneof(fc.constant(null), fc.constantFrom(...life.moments.map(({ revision }) => revision))),
    limits: fc.constantFrom(...limits),
  })
  return { life, present, targets, questions }
}

/** The whole list of a parent, as it should be. */
export function answerTo(
  recorded: RecordedLife,
  { scope, filter, order, asOf }: Question,
  parent: number,
): Deployment[] {
  const { life, present } = recorded
  const deployments = asOf === null ? present : life.moments.find(({ revision }) => revision === asOf)?.deployments
  return (deployments ?? [])
    .filter((d) => d.forgottenAt === null && ownerOf(scope, d) === parent && matches(filter, d, targetOf(recorded, d)))
    .toSorted(comparisons[order])
}

export function targetOf({ targets }: RecordedLife, { targetKey }: Pick<Deployment, 'targetKey'>): Target {
  const target = targets.get(targetKey)
  if (!target) throw new Error(`there is no target ${targetKey}`)
  return target
}

export async function pageOfParent(
  reader: Session,
  { scope, filter, order, asOf, limits }: Question,
  parent: number,
  page: PageRequest,
): Promise<Page<ShownDeployment>> {
  const pages = await pageDeployments(reader, scope, filter, order, page, asOf, limits)
  const found = pages.get(parent)
  if (!found) throw new Error(`there is no page of ${parent}`)
  return found
}
