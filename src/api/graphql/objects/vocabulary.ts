/** The enums (docs/wire.md §7.4). Their values are those of the domain. */
import type { ChangeKind } from '../../../domain/change.ts'
import type { Convergence } from '../../../domain/desired.ts'
import type { Presence, SyncStatus } from '../../../domain/orchestration/resource.ts'
import type { Verdict } from '../../../domain/report.ts'
import type { RolloutKind } from '../../../domain/rollout.ts'
import type { Connectivity, ConnectivitySource, TargetKind } from '../../../domain/target.ts'
import type { DeploymentState, FailureStage, Readiness } from '../../../domain/values.ts'
import type { SinkKind } from '../../../store/sinks/sinks.ts'
import { builder } from '../builder.ts'

type Described<Value extends string> = { readonly [V in Value]: { readonly description: string } }

export const DeploymentStateEnum = builder.enumType('DeploymentState', {
  description: 'The state of a deployment or a component.',
  values: {
    PENDING: { description: 'Not started. An error in this state is the reason for waiting, not a failure.' },
    INSTALLING: { description: 'The installation or update is in progress.' },
    INSTALLED: { description: 'The installation is complete.' },
    FAILED: { description: 'The installation, update or removal failed. The error gives the reason.' },
    REMOVING: { description: 'The removal is in progress.' },
    REMOVED: { description: 'The removal is complete.' },
  } satisfies Described<DeploymentState>,
})

builder.enumType('FailureStage', {
  description: 'The stage in which a deployment failed.',
  values: {
    PRE_PROCESSING: { description: 'Before any of its components started.' },
    PROCESSING: { description: 'While its components were in progress.' },
    POST_PROCESSING: { description: 'After all of its components were complete.' },
  } satisfies Described<FailureStage>,
})

export const ConvergenceEnum = builder.enumType('Convergence', {
  description: 'How the state that a device reports compares with its desired state.',
  values: {
    CONVERGED: { description: 'The device has adopted the target version and completed the installation or removal.' },
    APPLYING: { description: 'The device has adopted the target version and is working on it.' },
    FAILED: { description: 'The device has adopted the target version and failed.' },
    STALE: { description: 'The reported state belongs to an older version than the target version.' },
    UNKNOWN: { description: 'No document was declared, or the device does not report which version it has adopted.' },
  } satisfies Described<Convergence>,
})

export const LifecycleStateEnum = builder.enumType('LifecycleState', {
  description: 'The state of a rollout after the last lifecycle action in the orchestrator.',
  values: {
    CREATED: { description: 'The rollout is defined and not yet approved.' },
    APPROVED: { description: 'The rollout is approved for instantiation.' },
    APPLIED: { description: 'The network intents of a cluster are applied. They are not instantiated.' },
    INSTANTIATED: { description: 'The rollout is instantiated.' },
    TERMINATED: { description: 'The rollout is terminated.' },
    INSTANTIATE_STOPPED: { description: 'The instantiation was stopped.' },
    TERMINATE_STOPPED: { description: 'The termination was stopped.' },
    UPDATED: { description: 'The rollout was updated to a new instance.' },
  },
})

export const InstanceStatusEnum = builder.enumType('InstanceStatus', {
  description: 'The status of a rollout instance, as its orchestrator reports it.',
  values: {
    CREATED: { description: 'The instance exists. No resources are applied.' },
    INSTANTIATING: { description: 'Resources are being applied.' },
    INSTANTIATED: { description: 'All resources were applied.' },
    INSTANTIATE_FAILED: { description: 'Applying the resources failed.' },
    TERMINATING: { description: 'Resources are being deleted.' },
    TERMINATED: { description: 'All resources were deleted.' },
    TERMINATE_FAILED: { description: 'Deleting the resources failed.' },
    UPDATING: { description: 'Resources are being updated to another version.' },
    UPDATED: { description: 'All resources were updated.' },
    UPDATE_FAILED: { description: 'Updating the resources failed.' },
  },
})

export const ReadinessEnum = builder.enumType('Readiness', {
  description: 'Whether a deployed application works, according to its Kubernetes objects.',
  values: {
    READY: { description: 'All objects are ready.' },
    PENDING: { description: 'Some objects are not ready yet.' },
    FAILED: { description: 'Some objects have failed.' },
    UNKNOWN: { description: 'No cluster reports its objects.' },
  } satisfies Described<Readiness>,
})

export const SyncStatusEnum = builder.enumType('SyncStatus', {
  description: 'What an orchestrator did with a resource.',
  values: {
    PENDING: { description: 'The orchestrator has not applied it yet.' },
    APPLIED: { description: 'The orchestrator applied it. `presence` tells whether it exists in the cluster.' },
    FAILED: { description: 'Applying or deleting it failed.' },
    RETRYING: { description: 'The orchestrator is retrying, for example because the cluster cannot be reached.' },
    DELETED: { description: 'The orchestrator deleted it.' },
  } satisfies Described<SyncStatus>,
})

export const PresenceEnum = builder.enumType('Presence', {
  description: 'Whether a resource exists in its cluster.',
  values: {
    UNKNOWN: { description: 'The cluster has not reported yet, or does not report objects of this kind.' },
    NOT_PRESENT: { description: 'It does not exist in the cluster.' },
    PRESENT: { description: 'It exists in the cluster.' },
  } satisfies Described<Presence>,
})

export const ConnectivitySourceEnum = builder.enumType('ConnectivitySource', {
  description: 'What the connectivity of a target follows from.',
  values: {
    REPORT: { description: 'A report of the device, or another sign of life.' },
    GATEWAY: { description: 'A report of its gateway: the error 102, or a report without it.' },
    SILENCE: { description: 'The device was silent for longer than it may be.' },
    BROKER: { description: 'Its MQTT broker: its birth message or its last will.' },
    ORCHESTRATOR: { description: 'The orchestrator of the cluster.' },
  } satisfies Described<ConnectivitySource>,
})

export const ConnectivityEnum = builder.enumType('Connectivity', {
  description: 'Whether a target can be reached. Silence counts only if the device has an expected interval.',
  values: {
    UNKNOWN: { description: 'Not known.' },
    ONLINE: { description: 'It can be reached.' },
    OFFLINE: { description: 'It cannot be reached, or was silent for longer than its expected interval.' },
    RETRYING: { description: 'It could not be reached. Its orchestrator is retrying.' },
  } satisfies Described<Connectivity>,
})

export const VerdictEnum = builder.enumType('Verdict', {
  description: 'The result of an acknowledged report.',
  values: {
    APPLIED: { description: 'The report changed the recorded state.' },
    UNCHANGED: { description: 'The report repeated the recorded state.' },
    STALE: { description: 'The report was older than the recorded state. It is stored and has no effect.' },
  } satisfies Described<Verdict>,
})

export const TargetKindEnum = builder.enumType('TargetKind', {
  description: 'The kinds of targets that deployments run on.',
  values: {
    DEVICE: { description: 'An edge device.' },
    CLUSTER: { description: 'A Kubernetes cluster of a provider.' },
    CLOUD_REGION: { description: 'A cloud region: a cluster without a provider.' },
    SITE: { description: 'A site: a server that passes on what its devices and clusters report.' },
  } satisfies Described<TargetKind>,
})

export const RolloutKindEnum = builder.enumType('RolloutKind', {
  description: 'The origin of a rollout.',
  values: {
    DECLARED: { description: 'Named in `declareDeployments`.' },
    MARGO_DEPLOYMENT: { description: 'Undeclared deployments that share a deployment ID.' },
    DEPLOYMENT_INTENT_GROUP: { description: 'A deployment intent group of an orchestrator.' },
    CLUSTER_INTENTS: { description: 'The network intents of one cluster.' },
    RESOURCE_BUNDLE: { description: 'A resource bundle with its version and profile.' },
  } satisfies Described<RolloutKind>,
})

export const OrderDirectionEnum = builder.enumType('OrderDirection', {
  description: 'The direction of an order.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Greatest or newest first.' },
  },
})

export const FeedResetReasonEnum = builder.enumType('FeedResetReason', {
  description: 'Why a stream of changes was interrupted.',
  values: {
    CURSOR_EXPIRED: {
      description: 'The changes after the cursor expired, or belong to another epoch. All retained changes follow.',
    },
    OVERFLOW: { description: 'The subscriber fell too far behind. The stream ends. Resume it from the cursor.' },
  },
})

/** Each value is a type name in UPPER_SNAKE_CASE. */
export const ChangeKindEnum = builder.enumType('ChangeKind', {
  description: 'The kinds of changes.',
  values: {
    DEPLOYMENT_STATE_CHANGED: {
      description: 'The state, error, attempt or adopted manifest version of a deployment changed.',
    },
    COMPONENT_STATE_CHANGED: { description: 'The state or error of a component changed.' },
    COMPONENT_REMOVED: { description: 'A component was removed from its deployment.' },
    DEPLOYMENT_MOVED: { description: 'A deployment moved to another target.' },
    DEPLOYMENT_REVISED: {
      description:
        'The application, application version or rollout of a deployment changed; of one on a cluster also the readiness of its resources, or whether its run is the current one.',
    },
    DEPLOYMENT_FORGOTTEN: { description: 'A deployment was forgotten: it left all lists and counts.' },
    DEPLOYMENT_STALLED: { description: 'A deployment stalled, or made progress again.' },
    CONVERGENCE_CHANGED: { description: 'The convergence or the desired state of a deployment changed.' },
    RESOURCE_STATUS_CHANGED: { description: 'The status of a Kubernetes object changed.' },
    INSTANCE_STATUS_CHANGED: { description: 'The status of a rollout instance changed.' },
    LIFECYCLE_ACTION_RECORDED: { description: 'A lifecycle action on a rollout was recorded.' },
    ROLLOUT_LABELS_CHANGED: { description: 'The labels of a rollout were changed.' },
    CONNECTIVITY_CHANGED: { description: 'The connectivity of a target changed.' },
    DEVICE_RETIRED: { description: 'A device was retired.' },
    DEVICE_REINSTATED: { description: 'A retired device was registered again.' },
    MAINTENANCE_PLANNED: { description: 'A maintenance window was planned.' },
    MAINTENANCE_CANCELLED: { description: 'A maintenance window was ended by an operator.' },
    MAINTENANCE_STARTED: { description: 'A device or a cluster entered a maintenance window.' },
    MAINTENANCE_ENDED: { description: 'A device or a cluster left a maintenance window.' },
    ALERT_RAISED: { description: 'An alert was raised.' },
    ALERT_RESOLVED: { description: 'An alert was resolved.' },
    ALERT_ACKNOWLEDGED: { description: 'An alert was acknowledged.' },
  } satisfies Described<ChangeKind>,
})

export const SinkKindEnum = builder.enumType('SinkKind', {
  description: 'The kinds of sinks.',
  values: {
    WEBHOOK: { description: 'Sends changes as signed CloudEvents.' },
    ALERTMANAGER: { description: 'Sends alerts to an Alertmanager.' },
    CALLBACK: { description: 'Sends the resources of an instance in the format of k8splugin callbacks.' },
    INVENTORY: { description: 'Keeps the resources of an instance up to date in A&AI.' },
  } satisfies Described<SinkKind>,
})
