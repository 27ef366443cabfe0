import type { InstanceStatus } from './orchestration/instance.ts'
import type { Lifecycle, LifecycleState } from './orchestration/lifecycle.ts'
import type { Label } from './target.ts'
import type { Revision } from './values.ts'

export const rolloutKinds = [
  'DECLARED',
  'MARGO_DEPLOYMENT',
  'DEPLOYMENT_INTENT_GROUP',
  'CLUSTER_INTENTS',
  'RESOURCE_BUNDLE',
] as const
export type RolloutKind = (typeof rolloutKinds)[number]

/** The parts of a rollout's name. Parts that its kind does not use are null. */
export interface RolloutName {
  readonly kind: RolloutKind
  readonly name: string
  readonly project: string | null
  readonly compositeApp: string | null
  readonly compositeAppVersion: string | null
  readonly provider: string | null
}

export interface Rollout extends RolloutName {
  readonly key: number
  readonly compositeProfile: string | null
  /** The last action of a user. Null: no actions are recorded for this rollout. */
  readonly state: LifecycleState | null
  /** The status of the current instance. */
  readonly status: InstanceStatus | null
  /** The newest instance. The rollout shows its deployments and resources. */
  readonly currentInstanceKey: number | null
}

/** The labels of a rollout, from a revision on. Operators set them: no wire format has any. */
export interface RolloutLabels {
  readonly rolloutKey: number
  readonly since: Revision
  /** In the order of their keys, which are unique. */
  readonly labels: readonly Label[]
}

export function newRollout(key: number, name: RolloutName): Rollout {
  return { ...name, key, compositeProfile: null, state: null, status: null, currentInstanceKey: null }
}

/** The name of a rollout as one text, unique within its kind. */
export function rolloutUniqueName(rollout: Omit<RolloutName, 'kind'>): string {
  return JSON.stringify([
    rollout.project,
    rollout.provider,
    rollout.compositeApp,
    rollout.compositeAppVersion,
    rollout.name,
  ])
}

/** The rollout of an undeclared deployment: one for each deploymentId (docs/wire.md §7.1). */
export function implicitRollout(deploymentId: string): RolloutName {
  return {
    kind: 'MARGO_DEPLOYMENT',
    name: deploymentId,
    project: null,
    compositeApp: null,
    compositeAppVersion: null,
    provider: null,
  }
}

export function declaredRollout(name: string, project: string | null): RolloutName {
  return { kind: 'DECLARED', name, project, compositeApp: null, compositeAppVersion: null, provider: null }
}

export function deploymentIntentGroup(
  project: string,
  compositeApp: string,
  compositeAppVersion: string,
  name: string,
): RolloutName {
  return { kind: 'DEPLOYMENT_INTENT_GROUP', name, project, compositeApp, compositeAppVersion, provider: null }
}

/** An ONAP resource bundle with a profile, on any number of cloud regions. */
export function resourceBundle(rbName: string, rbVersion: string, profileName: string): RolloutName {
  const named = { compositeApp: rbName, compositeAppVersion: rbVersion, name: profileName }
  return { kind: 'RESOURCE_BUNDLE', ...named, project: null, provider: null }
}

/** A cluster's network intents. */
export function clusterIntents(provider: string, cluster: string): RolloutName {
  return {
    kind: 'CLUSTER_INTENTS',
    name: cluster,
    project: null,
    compositeApp: null,
    compositeAppVersion: null,
    provider,
  }
}

/** A rollout that has a lifecycle. */
export type LifecycleRolloutName = RolloutName & { readonly kind: Lifecycle }

/** For messages. A cluster may be known, by its connectivity or its deployments, without network intents of its own. */
export function kindInWords({ kind }: LifecycleRolloutName): string {
  return kind === 'CLUSTER_INTENTS' ? 'network intent of this cluster' : 'such deployment intent group'
}
