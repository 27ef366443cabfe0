/** The reads of deployments of one snapshot (reader.ts). */
import type { Millis, Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import { countConvergence, countDeployments } from '../../../../store/read/counts/deployment-counts.ts'
import { countSearched } from '../../../../store/read/counts/searched-total.ts'
import { arrivalsOverTime, convergenceOverTime, countOverTime } from '../../../../store/read/counts/series.ts'
import type { Scope } from '../../../../store/read/deployment-scope.ts'
import {
  componentsByKey,
  type DeploymentName,
  deploymentsByKey,
  findDeployments,
  findManyDeployments,
  nextEntries,
  pageDeployments,
} from '../../../../store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import type { DeploymentOrder } from '../../../../store/read/orders/deployment-order.ts'
import { type StalledDeployment, stallsOf } from '../../../../store/read/stalls.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'
import { type Parent, perParent } from './parents.ts'

export function deploymentLoaders(s: Snapshot) {
  // After a commit, each subscription to a deployment reads its own: one statement serves them all.
  const named = batched(
    (names: readonly DeploymentName[]) => findManyDeployments(s, names),
    (_, index) => index,
  )
  const namedInPast = remembered((deploymentId: string, deviceId: string | null, asOf: Revision) =>
    findDeployments(s, deploymentId, deviceId, asOf),
  )
  const deployment = batched((keys: readonly number[], asOf: Revision | null) => deploymentsByKey(s, keys, asOf))
  const nextEntry = batched((keys: readonly number[], after: Revision) => nextEntries(s, keys, after))
  const searched = remembered((of: Scope['of'], filter: DeploymentFilter) => countSearched(s, of, filter))

  return {
    deployment,
    /** One commit makes resources and then their deployment. In the middle of it the deployment is the one that the commit makes. */
    deploymentOfResource: async (key: number, asOf: Revision | null) => {
      const found = await deployment(key, asOf)
      const made = found || asOf === null ? undefined : await nextEntry(key, asOf)
      return made === undefined ? found : deployment(key, made)
    },
    /** Of a row without them. */
    components: batched((keys: readonly number[], asOf: Revision | null) => componentsByKey(s, keys, asOf)),
    findDeployments: async (deploymentId: string, deviceId: string | null, asOf: Revision | null) =>
      asOf === null ? ((await named({ deploymentId, deviceId })) ?? []) : namedInPast(deploymentId, deviceId, asOf),
    deployments: perParent(
      (scope, filter: DeploymentFilter, order: DeploymentOrder, page: PageRequest, asOf: Revision | null) =>
        pageDeployments(s, scope, filter, order, page, asOf),
    ),
    deploymentCounts: perParent((scope, filter: DeploymentFilter, asOf: Revision | null) =>
      countDeployments(s, scope, filter, asOf),
    ),
    /** Their sum, if an index has it. */
    searchedTotal: async (parent: Parent, filter: DeploymentFilter, asOf: Revision | null) =>
      asOf === null ? searched(parent.of, filter) : null,
    convergenceCounts: perParent((scope, filter: DeploymentFilter, asOf: Revision | null) =>
      countConvergence(s, scope, filter, asOf),
    ),
    /** At moments that ascend. */
    countsOverTime: perParent((scope, filter: DeploymentFilter, moments: readonly Millis[]) =>
      countOverTime(s, scope, filter, moments),
    ),
    convergenceOverTime: perParent((scope, filter: DeploymentFilter, revisions: readonly Revision[]) =>
      convergenceOverTime(s, scope, filter, revisions),
    ),
    arrivalsOverTime: perParent((scope, filter: DeploymentFilter, revisions: readonly Revision[]) =>
      arrivalsOverTime(s, scope, filter, revisions),
    ),
    stall: batched(
      (stalled: readonly StalledDeployment[], asOf: Revision | null) => stallsOf(s, stalled, asOf),
      ({ key }) => key,
    ),
  }
}
