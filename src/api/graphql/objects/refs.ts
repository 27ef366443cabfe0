/** References to object types that refer to each other. Each is implemented in the file of its name. */
import type { Change as ChangeRow } from '../../../domain/change.ts'
import type { Component as ComponentState } from '../../../domain/deployment.ts'
import type { LifecycleAction as ActionRow } from '../../../domain/orchestration/lifecycle.ts'
import type { AlertRow } from '../../../store/alerts/alerts.ts'
import type { DeploymentRow } from '../../../store/read/deployments.ts'
import type { InstanceRow } from '../../../store/read/orchestration/instances.ts'
import type { ResourceRow } from '../../../store/read/orchestration/resources.ts'
import type { RolloutRow } from '../../../store/read/rollouts/rollouts.ts'
import { builder } from '../builder.ts'
import type { TargetNode } from '../execution/loaders/targets.ts'

export type ComponentNode = ComponentState & { readonly deployment: DeploymentRow }

export const Component = builder.objectRef<ComponentNode>('Component')

export const Deployment = builder.objectRef<DeploymentRow>('Deployment')

export const Alert = builder.objectRef<AlertRow>('Alert')

export const Rollout = builder.objectRef<RolloutRow>('Rollout')

export const RolloutInstance = builder.objectRef<InstanceRow>('RolloutInstance')

export const Resource = builder.objectRef<ResourceRow>('Resource')

export const Target = builder.interfaceRef<TargetNode>('Target')

export const Device = builder.objectRef<TargetNode>('Device')

export const Cluster = builder.objectRef<TargetNode>('Cluster')

export const Site = builder.objectRef<TargetNode>('Site')

export const Change = builder.interfaceRef<ChangeRow>('Change')

export const LifecycleAction =
  builder.objectRef<Pick<ActionRow, 'state' | 'instanceId' | 'instanceRevision' | 'at' | 'actor'>>('LifecycleAction')
