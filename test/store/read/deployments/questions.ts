/** Questions about lists and counts of deployments. */
import fc from 'fast-check'
import type { Deployment } from '../../../../src/domain/deployment.ts'
import type { DeploymentState, Revision } from '../../../../src/domain/values.ts'
import type { Scope } from '../../../../src/store/read/deployment-scope.ts'
import type { DeploymentCondition, DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { type SourceLimits, sourceLimits } from '../../../../src/store/read/filters/source.ts'
import type { DeploymentOrder } from '../../../../src/store/read/orders/deployment-order.ts'
import { componentNames } from '../history.ts'
import { some } from '../reference.ts'

export interface Question {
  readonly scope: Scope
  readonly filter: DeploymentFilter
  readonly order: DeploymentOrder
  readonly asOf: Revision | null
  readonly limits: SourceLimits
}

/** As for a small fleet, and as for a fleet in which some conditions match few deployments and others too many. */
export const limits: readonly SourceLimits[] = [
  sourceLimits,
  { small: 0, candidates: 4, walked: 1_000, counted: 1_000, scanned: 0 },
  { small: 0, candidates: 4, walked: 1_000, counted: 1_000, scanned: 100_000 },
  { small: 0, candidates: 1_000, walked: 1_000, counted: 1_000, scanned: 0 },
]

/** Conditions that the search index serves, alone and together, with characters that JSON and SQL write in other ways. */
const leaf: fc.Arbitrary<DeploymentCondition> = fc.record(
  {
    applications: some(['shop', 'Till%', '\0', 'nothing']),
    applicationVersions: some(['1.0', '1.1']),
    components: some([...componentNames, 'nothing']),
    text: fc.constantFrom('press', 'PRESS "', 'till%', 'al', 'gw/', 'eta', 'full', 'nothing-like-it', '\0ab'),
    states: some<DeploymentState>(['FAILED', 'INSTALLED']),
  },
  { requiredKeys: [] },
)
export const searched: fc.Arbitrary<DeploymentFilter> = fc.oneof(
  leaf,
  fc.tuple(leaf, leaf).map(([a, b]) => ({ ...a, where: { and: [b] } })),
  fc.tuple(leaf, leaf).map(([a, b]) => ({ where: { or: [a, b] } })),
  fc.tuple(leaf, leaf).map(([a, b]) => ({ ...a, where: { not: b } })),
)

export const whole: Question = { scope: { of: 'fleet' }, filter: {}, order: 'NAME', asOf: null, limits: sourceLimits }

export function parentsOf(scope: Scope): readonly number[] {
  return scope.of === 'fleet' ? [0] : [...new Set(scope.keys)]
}

export function ownerOf(scope: Scope, deployment: Deployment): number {
  switch (scope.of) {
    case 'fleet':
      return 0
    case 'rollout':
      return deployment.rolloutKey
    case 'target':
      return deployment.targetKey
    case 'instance':
      return deployment.instanceKey ?? -1
  }
}
