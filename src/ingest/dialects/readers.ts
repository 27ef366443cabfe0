/** What a dialect may read for its answers. rest/ binds these to a snapshot, with the scope of the caller. */
import type { Instance } from '../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../domain/orchestration/lifecycle.ts'
import type { ListedResource, Presence, Resource, ResourceCounts } from '../../domain/orchestration/resource.ts'
import type { Rollout, RolloutName } from '../../domain/rollout.ts'
import type { Readiness } from '../../domain/values.ts'

export interface Readers {
  rollout(name: RolloutName): Promise<Rollout | null>
  /** Oldest first. */
  actions(rolloutKey: number): Promise<readonly LifecycleAction[]>
  /** Oldest first. */
  instances(rolloutKey: number): Promise<readonly Instance[]>
  instance(instanceId: string): Promise<Instance | null>
  /** Whether it is an instance of a resource bundle. */
  isBundle(instance: Instance): Promise<boolean>
  /** Instances of resource bundles that are not deleted, oldest first. */
  bundleInstances(): Promise<readonly Instance[]>
  /** The bodies of instances as received. */
  documents(instanceKeys: readonly number[]): Promise<ReadonlyMap<number, unknown>>
  /** By component, then by cluster, in pages of `size`. */
  listedResources(instanceKey: number, filter: ResourceQuery, size: number): AsyncGenerator<ListedResource[]>
  /** Oldest first, in pages of `size`. */
  resources(instanceKey: number, size: number): AsyncGenerator<readonly Resource[]>
  resourceCounts(instanceKey: number, filter: ResourceQuery): Promise<ResourceCounts>
  readiness(instanceKey: number): Promise<Readiness>
  details(
    resourceKeys: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly detail: unknown; readonly appliedDetail: unknown }>>
}

/** An absent field matches everything. */
export interface ResourceQuery {
  /** Names of components. */
  readonly apps?: readonly string[]
  /** `provider+name`, or `+name` of any provider. */
  readonly clusters?: readonly string[]
  readonly names?: readonly string[]
  readonly presence?: readonly Presence[]
  readonly isApplied?: boolean
  readonly isShowable?: boolean
}
