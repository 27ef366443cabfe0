/**
 * All reads of one snapshot. Equal reads on one level of a query become one statement (DataLoader), and results are
 * cached. A reader belongs to its snapshot, so all readers of a shared snapshot share its cache.
 */
import { type AccessScope, accessScopeKey } from '../../domain/access-scope.ts'
import type { Change, ChangeFilter } from '../../domain/change.ts'
import type { Target, TargetKind } from '../../domain/target.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Snapshot } from '../../store/database.ts'
import { visibleChanges, withScope } from '../../store/read/access-scope.ts'
import { audit } from '../../store/read/audit.ts'
import { countChanges, pageChanges } from '../../store/read/changes/changes.ts'
import { countSearched } from '../../store/read/counts/searched-total.ts'
import type { DeploymentFilter } from '../../store/read/deployment-filter.ts'
import {
  arrivalsOverTime,
  componentsByKey,
  convergenceOverTime,
  countConvergence,
  countDeployments,
  countOverTime,
  type DeploymentName,
  type DeploymentOrder,
  deploymentsByKey,
  findDeployments,
  findManyDeployments,
  pageDeployments,
  type Scope,
} from '../../store/read/deployments.ts'
import { countDeviations, deviationsOf } from '../../store/read/deviations.ts'
import type { ResourceFilter } from '../../store/read/filters/resource-filter.ts'
import type { GroupedBy, Grouping, GroupName } from '../../store/read/groups/grouping.ts'
import { countGroups, type DeploymentGroup, type GroupOrder, pageGroups } from '../../store/read/groups/groups.ts'
import { newestOfGroups, spansOfGroups } from '../../store/read/groups/members.ts'
import { actionsOf, instancesByKey, instancesOf } from '../../store/read/instances.ts'
import type { ResourceOrder } from '../../store/read/orders/resource-order.ts'
import { requireRetained, resolvePast } from '../../store/read/past.ts'
import { profilesOf } from '../../store/read/profiles.ts'
import { countResources, detailsOf, pageResources, resourcesByKey, sumOfReadiness } from '../../store/read/resources.ts'
import { type SearchKind, search } from '../../store/read/search.ts'
import { type StalledDeployment, stallsOf } from '../../store/read/stalls.ts'
import { targetByName, targetsByKey } from '../../store/read/targets.ts'
import type { PageRequest } from '../../store/sql/order.ts'
import { createAlertReads } from './alert-reads.ts'
import { batched, remembered } from './batching.ts'
import { desiredLoaders } from './desired-loaders.ts'
import { deviceLoaders } from './device-loaders.ts'
import { listLoaders } from './list-loaders.ts'
import {
  answerKey,
  type ChangeParent,
  changeScopeOf,
  type Parent,
  type ResourceParent,
  resourceScopeOf,
  scopeOf,
} from './parents.ts'
import { reportLoaders } from './report-loaders.ts'
import { rolloutLoaders } from './rollout-loaders.ts'
import { sinkLoaders } from './sink-loaders.ts'

/** `asOf`: the revision that it reflects (store/read/past-targets.ts). Null: the present. */
export type TargetNode = Target & { readonly asOf: Revision | null }

export type Reader = ReturnType<typeof createReader>

/** One reader per snapshot and access scope. */
export function readerOf(snapshot: Snapshot, accessScope: AccessScope | null): Reader {
  const key = accessScope === null ? 'reader' : `reader ${accessScopeKey(accessScope)}`
  const known = snapshot.derived.get(key) as Reader | undefined
  if (known) return known
  const reader = createReader(withScope(snapshot, accessScope))
  snapshot.derived.set(key, reader)
  return reader
}

function createReader(s: Snapshot) {
  const target = batched((keys: readonly number[], asOf: Revision | null) => targetsByKey(s, keys, asOf))
  const deployments = batched(
    (
      keys: readonly number[],
      of: Scope['of'],
      filter: DeploymentFilter,
      order: DeploymentOrder,
      page: PageRequest,
      asOf: Revision | null,
    ) => pageDeployments(s, scopeOf(of, keys), filter, order, page, asOf),
  )
  const counts = batched((keys: readonly number[], of: Scope['of'], filter: DeploymentFilter, asOf: Revision | null) =>
    countDeployments(s, scopeOf(of, keys), filter, asOf),
  )
  const convergence = batched(
    (keys: readonly number[], of: Scope['of'], filter: DeploymentFilter, asOf: Revision | null) =>
      countConvergence(s, scopeOf(of, keys), filter, asOf),
  )
  const countsOverTime = batched(
    (keys: readonly number[], of: Scope['of'], filter: DeploymentFilter, moments: readonly Millis[]) =>
      countOverTime(s, scopeOf(of, keys), filter, moments),
  )
  const convergenceAtEach = batched(
    (keys: readonly number[], of: Scope['of'], filter: DeploymentFilter, revisions: readonly Revision[]) =>
      convergenceOverTime(s, scopeOf(of, keys), filter, revisions),
  )
  const arrivals = batched(
    (keys: readonly number[], of: Scope['of'], filter: DeploymentFilter, revisions: readonly Revision[]) =>
      arrivalsOverTime(s, scopeOf(of, keys), filter, revisions),
  )
  const groups = batched(
    (
      keys: readonly number[],
      of: Scope['of'],
      by: GroupedBy,
      filter: DeploymentFilter,
      order: GroupOrder,
      page: PageRequest,
      asOf: Revision | null,
    ) => pageGroups(s, scopeOf(of, keys), by, filter, order, page, asOf),
  )
  const groupCount = batched(
    (keys: readonly number[], of: Scope['of'], by: GroupedBy, filter: DeploymentFilter, asOf: Revision | null) =>
      countGroups(s, scopeOf(of, keys), by, filter, asOf),
  )
  const newestOfGroup = batched(
    (
      some: readonly Pick<DeploymentGroup, 'parent' | 'name'>[],
      of: Scope['of'],
      filter: DeploymentFilter,
      size: number,
      asOf: Revision | null,
    ) => newestOfGroups(s, some, of, filter, size, asOf),
    (_, index) => index,
  )
  const spanOfGroup = batched(
    (names: readonly GroupName[], _by: Grouping, filter: DeploymentFilter, asOf: Revision | null) =>
      spansOfGroups(s, names, filter, asOf),
    (_, index) => index,
  )
  const changes = batched(
    (parents: readonly ChangeParent[], _of: string, filter: ChangeFilter, page: PageRequest, until: Revision | null) =>
      pageChanges(s, changeScopeOf(parents), filter, page, until),
    answerKey,
  )
  const changeCount = batched(
    (parents: readonly ChangeParent[], _of: string, filter: ChangeFilter, until: Revision | null) =>
      countChanges(s, changeScopeOf(parents), filter, until),
    answerKey,
  )
  const resources = batched(
    (
      parents: readonly ResourceParent[],
      _of: string,
      filter: ResourceFilter,
      page: PageRequest,
      asOf: Revision | null,
      order: ResourceOrder,
    ) => pageResources(s, resourceScopeOf(parents), filter, page, asOf, order),
    answerKey,
  )
  const resourceCounts = batched(
    (parents: readonly ResourceParent[], _of: string, filter: ResourceFilter, asOf: Revision | null) =>
      countResources(s, resourceScopeOf(parents), filter, asOf),
    answerKey,
  )
  const readinessSum = batched(
    (parents: readonly ResourceParent[], _of: string, asOf: Revision | null) =>
      sumOfReadiness(s, resourceScopeOf(parents), asOf),
    answerKey,
  )
  // After a commit, each subscription to a deployment reads its own: one statement serves them all.
  const named = batched(
    (names: readonly DeploymentName[]) => findManyDeployments(s, names),
    (_, index) => index,
  )
  const namedInPast = remembered((deploymentId: string, deviceId: string | null, asOf: Revision) =>
    findDeployments(s, deploymentId, deviceId, asOf),
  )
  const searched = remembered((of: Scope['of'], filter: DeploymentFilter) => countSearched(s, of, filter))
  const keyOf = (parent: Parent): number => (parent.of === 'fleet' ? 0 : parent.key)

  return {
    head: s.head,
    /** Whether the caller has an access scope. */
    isNarrow: s.accessScope !== undefined,
    /** The changes that the caller can see. */
    see: (changes: readonly Change[]) => visibleChanges(s, changes),
    /** Throws HISTORY_EXPIRED if changes after that revision have expired. */
    retained: (revision: Revision) => requireRetained(s, revision),
    /** The revision selected by the arguments `asOf` and `atRevision`. */
    past: remembered((asOf: Millis | null, atRevision: Revision | null) =>
      resolvePast(s, { asOf, atRevision: atRevision === null ? null : String(atRevision) }),
    ),
    deployment: batched((keys: readonly number[], asOf: Revision | null) => deploymentsByKey(s, keys, asOf)),
    /** Of a row without them. */
    components: batched((keys: readonly number[], asOf: Revision | null) => componentsByKey(s, keys, asOf)),
    findDeployments: async (deploymentId: string, deviceId: string | null, asOf: Revision | null) =>
      asOf === null ? ((await named({ deploymentId, deviceId })) ?? []) : namedInPast(deploymentId, deviceId, asOf),
    deployments: (
      parent: Parent,
      filter: DeploymentFilter,
      order: DeploymentOrder,
      page: PageRequest,
      asOf: Revision | null,
    ) => deployments(keyOf(parent), parent.of, filter, order, page, asOf),
    deploymentCounts: (parent: Parent, filter: DeploymentFilter, asOf: Revision | null) =>
      counts(keyOf(parent), parent.of, filter, asOf),
    /** Their sum, if an index has it. */
    searchedTotal: async (parent: Parent, filter: DeploymentFilter, asOf: Revision | null) =>
      asOf === null ? searched(parent.of, filter) : null,
    convergenceCounts: (parent: Parent, filter: DeploymentFilter, asOf: Revision | null) =>
      convergence(keyOf(parent), parent.of, filter, asOf),
    /** At moments that ascend. */
    countsOverTime: (parent: Parent, filter: DeploymentFilter, moments: readonly Millis[]) =>
      countsOverTime(keyOf(parent), parent.of, filter, moments),
    convergenceOverTime: (parent: Parent, filter: DeploymentFilter, revisions: readonly Revision[]) =>
      convergenceAtEach(keyOf(parent), parent.of, filter, revisions),
    arrivalsOverTime: (parent: Parent, filter: DeploymentFilter, revisions: readonly Revision[]) =>
      arrivals(keyOf(parent), parent.of, filter, revisions),
    groups: (
      parent: Parent,
      by: GroupedBy,
      filter: DeploymentFilter,
      order: GroupOrder,
      page: PageRequest,
      asOf: Revision | null,
    ) => groups(keyOf(parent), parent.of, by, filter, order, page, asOf),
    groupCount: (parent: Parent, by: GroupedBy, filter: DeploymentFilter, asOf: Revision | null) =>
      groupCount(keyOf(parent), parent.of, by, filter, asOf),
    /** When the deployments of a group of the fleet last changed. */
    spanOfGroup: (name: GroupName, filter: DeploymentFilter, asOf: Revision | null) =>
      spanOfGroup(name, name.by, filter, asOf),
    /** The deployments of a group that changed last. */
    newestOfGroup: (
      { parent, name }: Pick<DeploymentGroup, 'parent' | 'name'>,
      of: Parent['of'],
      filter: DeploymentFilter,
      size: number,
      asOf: Revision | null,
    ) => newestOfGroup({ parent, name }, of, filter, size, asOf),

    target: async (key: number, asOf: Revision | null): Promise<TargetNode | undefined> => {
      const found = await target(key, asOf)
      return found && { ...found, asOf }
    },
    knownTarget(key: number, asOf: Revision | null): TargetNode | undefined {
      const found = target.known(key, asOf)
      return found && { ...found, asOf }
    },
    targetByName: remembered((kind: TargetKind, provider: string, name: string, asOf: Revision | null) =>
      targetByName(s, kind, provider, name, asOf),
    ),
    ...deviceLoaders(s),
    ...rolloutLoaders(s),
    ...listLoaders(s),

    resource: batched((keys: readonly number[], asOf: Revision | null) => resourcesByKey(s, keys, asOf)),
    resourceDetail: batched((keys: readonly number[]) => detailsOf(s, keys)),
    resources: (
      parent: ResourceParent,
      filter: ResourceFilter,
      page: PageRequest,
      asOf: Revision | null,
      order: ResourceOrder,
    ) => resources(parent, parent.of, filter, page, asOf, order),
    resourceCounts: (parent: ResourceParent, filter: ResourceFilter, asOf: Revision | null) =>
      resourceCounts(parent, parent.of, filter, asOf),
    readinessSum: (parent: ResourceParent, asOf: Revision | null) => readinessSum(parent, parent.of, asOf),
    instance: batched((keys: readonly number[], asOf: Revision | null) => instancesByKey(s, keys, asOf)),
    instancesOf: batched((keys: readonly number[], asOf: Revision | null) => instancesOf(s, keys, asOf)),
    actionsOf: batched((keys: readonly number[], asOf: Revision | null) => actionsOf(s, keys, asOf)),

    changes: (parent: ChangeParent, filter: ChangeFilter, page: PageRequest, until: Revision | null) =>
      changes(parent, parent.of, filter, page, until),
    changeCount: (parent: ChangeParent, filter: ChangeFilter, until: Revision | null) =>
      changeCount(parent, parent.of, filter, until),

    ...createAlertReads(s),

    profile: batched((keys: readonly number[]) => profilesOf(s, keys)),
    deviations: batched((keys: readonly number[]) => deviationsOf(s, keys)),
    deviationCounts: remembered(() => countDeviations(s)),
    ...desiredLoaders(s),
    ...reportLoaders(s),
    stall: batched(
      (stalled: readonly StalledDeployment[], asOf: Revision | null) => stallsOf(s, stalled, asOf),
      ({ key }) => key,
    ),
    search: remembered((text: string, kinds: readonly SearchKind[], limit: number) => search(s, text, kinds, limit)),
    ...sinkLoaders(s),
    drift: remembered(() => audit(s)),
  }
}
