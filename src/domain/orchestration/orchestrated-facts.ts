/** What orchestrators and clusters report. Each dialect parses it, and the writer applies it. */
import type { Verdict } from '../report.ts'
import type { LifecycleRolloutName, RolloutName } from '../rollout.ts'
import type { Connectivity, TargetName } from '../target.ts'
import type { DeploymentState, Revision } from '../values.ts'
import type { LifecycleState } from './lifecycle.ts'
import type { Assessment, Resource, ResourceDetail, SyncStatus } from './resource.ts'

/** Actions or resources in one request. */
export const mostItems = 10_000

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

/** An instance of a resource bundle. */
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

/** The objects of a component, complete. */
export interface ComponentSnapshot {
  readonly component: string
  /** The version of the custom resource. An older version of the same one is STALE. Null: unknown, so the snapshot is the newest. */
  readonly uid: string | null
  readonly resourceVersion: string | null
  readonly objects: readonly ObservedObject[]
  /** It lists the objects of all components, and new ones are of `component`: an upgrade leaves resources of a former component. */
  readonly isOfAll?: true
  /** Whether the source can show objects of that kind, also when it lists none. */
  readonly canShow: (group: string, kind: string) => boolean
}

/** A snapshot of a component on a cluster. */
export interface StateSnapshot extends ComponentSnapshot {
  /** The status context in the labels of the resources, or the id of an instance. */
  readonly context: string
  readonly target: TargetName
}

/** What one request of an orchestrator reports. */
export type Fact =
  | { readonly of: 'actions'; readonly rollout: LifecycleRolloutName; readonly actions: readonly ActionFact[] }
  | {
      readonly of: 'resources'
      readonly rollout: LifecycleRolloutName
      readonly instanceId: string
      readonly resources: readonly AppliedResource[]
    }
  | { readonly of: 'snapshot'; readonly rollout: LifecycleRolloutName; readonly snapshot: StateSnapshot }
  | { readonly of: 'connectivity'; readonly target: TargetName; readonly connectivity: Connectivity }
  | { readonly of: 'instance'; readonly instance: BundleInstance }
  | { readonly of: 'objects'; readonly instanceId: string; readonly objects: readonly ObservedObject[] }
  | { readonly of: 'removal'; readonly instanceId: string }

/** What the writer made of it. */
export interface Outcomes {
  readonly actions: {
    readonly revision: Revision
    readonly rolloutKey: number
    /** The number of new actions. 0: all were repeated. */
    readonly recorded: number
  }
  readonly resources: { readonly revision: Revision; readonly verdicts: readonly Verdict[] }
  readonly snapshot: Recorded
  readonly connectivity: Recorded
  readonly instance: Recorded & {
    readonly instanceKey: number
    /** It did not exist, or it was removed. */
    readonly isNew: boolean
  }
  readonly objects: Recorded
  readonly removal: Recorded
}

interface Recorded {
  readonly revision: Revision
  readonly verdict: Verdict
}
