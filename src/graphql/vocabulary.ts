/** The enums (PRODUCT, "Vocabularies"): their values are the domain's own, each with its meaning. */
import type { DeploymentState, Readiness } from '../domain/deployment.ts'
import type { Convergence } from '../domain/desired.ts'
import type { Verdict } from '../domain/report.ts'
import type { Presence, SyncStatus } from '../domain/resource.ts'
import type { RolloutKind } from '../domain/rollout.ts'
import type { Connectivity, TargetKind } from '../domain/target.ts'
import type { DeploymentOrder } from '../store/deployments.ts'
import type { SinkKind } from '../store/sinks.ts'
import { builder } from './builder.ts'

type Described<Value extends string> = { readonly [V in Value]: { readonly description: string } }

export const DeploymentStateEnum = builder.enumType('DeploymentState', {
  description: 'How far a deployment or a component is, in the words of its reporter.',
  values: {
    PENDING: { description: 'Nothing has begun; an error beside it is the reason for waiting, not a failure.' },
    INSTALLING: { description: 'Being installed or updated.' },
    INSTALLED: { description: 'Installed; nothing more is to be done.' },
    FAILED: { description: 'Given up; the error says why.' },
    REMOVING: { description: 'Being removed.' },
    REMOVED: { description: 'Removed; nothing is left.' },
  } satisfies Described<DeploymentState>,
})

export const ConvergenceEnum = builder.enumType('Convergence', {
  description: 'How what a device says it runs compares with what it should run.',
  values: {
    CONVERGED: { description: 'It has adopted the version meant, and installed (or removed) what that says.' },
    APPLYING: { description: 'It has adopted the version meant, and is not done with it.' },
    FAILED: { description: 'It failed on the version meant.' },
    STALE: { description: 'Whatever it says, it says it of an older version than the one meant.' },
    UNKNOWN: { description: 'Nobody declared a document, or the device does not say which version it has adopted.' },
  } satisfies Described<Convergence>,
})

export const LifecycleStateEnum = builder.enumType('LifecycleState', {
  description: "What a user last did with a rollout: the orchestrator's lifecycle actions.",
  values: {
    CREATED: { description: 'Defined, and not yet approved.' },
    APPROVED: { description: 'Approved for instantiation.' },
    APPLIED: { description: 'Applied: the form that network intents of a cluster take instead of being instantiated.' },
    INSTANTIATED: { description: 'Instantiated.' },
    TERMINATED: { description: 'Terminated.' },
    INSTANTIATE_STOPPED: { description: 'Its instantiation was stopped.' },
    TERMINATE_STOPPED: { description: 'Its termination was stopped.' },
    UPDATED: { description: 'Updated to a new instance.' },
  },
})

export const InstanceStatusEnum = builder.enumType('InstanceStatus', {
  description: 'How far one run of a rollout is, as its orchestrator tells.',
  values: {
    CREATED: { description: 'Created, and nothing has been applied.' },
    INSTANTIATING: { description: 'Resources are being applied.' },
    INSTANTIATED: { description: 'All resources were applied.' },
    INSTANTIATE_FAILED: { description: 'Applying gave up.' },
    TERMINATING: { description: 'Resources are being deleted.' },
    TERMINATED: { description: 'All resources were deleted.' },
    TERMINATE_FAILED: { description: 'Deleting gave up.' },
    UPDATING: { description: 'Resources are being brought to another version.' },
    UPDATED: { description: 'All resources have the other version.' },
    UPDATE_FAILED: { description: 'Updating gave up.' },
  },
})

export const ReadinessEnum = builder.enumType('Readiness', {
  description: 'Whether what was deployed does its work, judged from its Kubernetes objects.',
  values: {
    READY: { description: 'All of it is ready.' },
    PENDING: { description: 'Some of it is not ready yet.' },
    FAILED: { description: 'Some of it has failed.' },
    UNKNOWN: { description: 'Nobody has shown any objects to judge.' },
  } satisfies Described<Readiness>,
})

export const SyncStatusEnum = builder.enumType('SyncStatus', {
  description: 'What an orchestrator did with a resource.',
  values: {
    PENDING: { description: 'Nothing yet.' },
    APPLIED: { description: 'It was applied; whether it is there is another question.' },
    FAILED: { description: 'Applying or deleting it was given up.' },
    RETRYING: { description: 'It is being tried again, perhaps because its cluster cannot be reached.' },
    DELETED: { description: 'It was deleted.' },
  } satisfies Described<SyncStatus>,
})

export const PresenceEnum = builder.enumType('Presence', {
  description: 'Whether a cluster shows a resource.',
  values: {
    UNKNOWN: { description: 'The cluster has shown nothing yet, or cannot show objects of this kind.' },
    NOT_PRESENT: { description: 'The cluster does not have it.' },
    PRESENT: { description: 'The cluster has it.' },
  } satisfies Described<Presence>,
})

export const ConnectivityEnum = builder.enumType('Connectivity', {
  description: 'Whether a target can be reached: known only where somebody says so, as silence proves nothing.',
  values: {
    UNKNOWN: { description: 'Nobody has said.' },
    ONLINE: { description: 'It can be reached.' },
    OFFLINE: { description: 'It cannot be reached, or was silent for longer than it promised.' },
    RETRYING: { description: 'It could not be reached and is being tried again.' },
  } satisfies Described<Connectivity>,
})

export const VerdictEnum = builder.enumType('Verdict', {
  description: 'What became of an acknowledged report.',
  values: {
    APPLIED: { description: 'It changed something.' },
    UNCHANGED: { description: 'It repeated what was known.' },
    STALE: { description: 'It was older than what was known: kept, and without effect.' },
  } satisfies Described<Verdict>,
})

export const TargetKindEnum = builder.enumType('TargetKind', {
  description: 'What a deployment runs on.',
  values: {
    DEVICE: { description: 'An edge device.' },
    CLUSTER: { description: 'A Kubernetes cluster of a provider.' },
    CLOUD_REGION: { description: 'A cloud region: a cluster without a provider.' },
  } satisfies Described<TargetKind>,
})

export const RolloutKindEnum = builder.enumType('RolloutKind', {
  description: 'Where a rollout comes from.',
  values: {
    DECLARED: { description: 'Named by declareDeployments.' },
    MARGO_DEPLOYMENT: { description: 'The deployments of one deploymentId that nobody declared.' },
    DEPLOYMENT_INTENT_GROUP: { description: 'A deployment intent group of an orchestrator.' },
    CLUSTER_INTENTS: { description: 'The network intents of one cluster.' },
    RESOURCE_BUNDLE: { description: 'A resource bundle with its version and profile.' },
  } satisfies Described<RolloutKind>,
})

export const DeploymentOrderEnum = builder.enumType('DeploymentOrder', {
  description: 'In which order deployments are listed.',
  values: {
    CHANGED_DESC: { description: 'What changed last comes first.' },
    CHANGED_ASC: { description: 'What has not changed for longest comes first.' },
    STATE: { description: 'By state, in the order of the enum; within one, what changed last comes first.' },
    NAME: { description: 'By deploymentId.' },
  } satisfies Described<DeploymentOrder>,
})

export const FeedResetReasonEnum = builder.enumType('FeedResetReason', {
  description: 'Why a stream of changes could not simply go on.',
  values: {
    CURSOR_EXPIRED: {
      description: 'What followed the cursor is no longer, or not in this epoch; all that is retained follows.',
    },
    OVERFLOW: {
      description: 'The subscriber fell too far behind; the stream ends, and can be resumed from the cursor.',
    },
  },
})

/** `kind` is the type's name in UPPER_SNAKE. Some kinds are written by later versions only; clients may name them already. */
export const ChangeKindEnum = builder.enumType('ChangeKind', {
  description: 'What a change is about.',
  values: {
    DEPLOYMENT_STATE_CHANGED: { description: 'A deployment has another state, error, attempt or manifest version.' },
    COMPONENT_STATE_CHANGED: { description: 'A component has another state or error.' },
    COMPONENT_REMOVED: { description: 'A component is no longer part of its deployment.' },
    DEPLOYMENT_MOVED: { description: 'A deployment runs on another target.' },
    DEPLOYMENT_REVISED: { description: 'A deployment has another application, version or rollout.' },
    DEPLOYMENT_FORGOTTEN: { description: 'A deployment left all lists and counts.' },
    DEPLOYMENT_STALLED: { description: 'A deployment stalled, or goes on again.' },
    CONVERGENCE_CHANGED: {
      description: 'A deployment came closer to what its device should run, or that has changed.',
    },
    RESOURCE_STATUS_CHANGED: { description: 'A Kubernetes object has another status.' },
    INSTANCE_STATUS_CHANGED: { description: 'A run of a rollout has another status.' },
    LIFECYCLE_ACTION_RECORDED: { description: 'A user did something with a rollout.' },
    CONNECTIVITY_CHANGED: { description: 'A target came into or went out of reach.' },
  },
})

export const SinkKindEnum = builder.enumType('SinkKind', {
  description: 'How somebody outside is told.',
  values: {
    WEBHOOK: { description: 'Changes, as signed CloudEvents.' },
    CALLBACK: { description: "An instance's resources, as k8splugin's callbacks." },
    INVENTORY: { description: "An instance's resources, kept level in A&AI." },
  } satisfies Described<SinkKind>,
})
