/** What orchestrators and clusters report. Each dialect parses it, and the writer applies it. */
import type { RolloutName } from '../rollout.ts'
import type { TargetName } from '../target.ts'
import type { DeploymentState } from '../values.ts'
import type { LifecycleState } from './lifecycle.ts'
import type { Assessment, Resource, ResourceDetail, SyncStatus } from './resource.ts'

export type ObjectName = Pick<Resource, 'group' | 'version' | 'kind' | 'name' | 'namespace'>

export interface ActionFact {
  readonly state: LifecycleState
  /** Null: the current instance, or none if the action needs none. */
  readonly instanceId: string | null
  /** Null: the time of this server. */
  readonly at: number | null
  /** The timestamp as the user wrote it. */
  readonly timestamp: string | null
  readonly compositeProfile: string | null
}

/** A resource that the orchestrator applied. */
export interface AppliedResource extends ObjectName {
  readonly component: string
  readonly target: TargetName
  readonly sync: SyncStatus
  /** Whether the source that watches the cluster can show objects of this kind. */
  readonly showable: boolean
  /** Undefined: unknown. */
  readonly detail?: ResourceDetail | null
}

/** An object in the cluster. */
export interface ObservedObject extends ObjectName {
  readonly assessment: Assessment
  readonly detail: ResourceDetail | null
  /** The source gave no namespace: it is that of the instance. */
  readonly isNamespaceGuessed?: true
}

/** An instance of a k8splugin. */
export interface BundleInstance {
  readonly instanceId: string
  readonly rollout: RolloutName
  readonly cloudRegion: string
  readonly component: string
  readonly reportedState: DeploymentState
  /** The instance is being deleted, so a failure is a failure to delete. */
  readonly isEnding: boolean
  readonly resources: readonly ObjectName[]
  /** The body as received, as JSON text. */
  readonly document: string
}
