export const rolloutKinds = [
  'DECLARED',
  'MARGO_DEPLOYMENT',
  'DEPLOYMENT_INTENT_GROUP',
  'CLUSTER_INTENTS',
  'RESOURCE_BUNDLE',
] as const
export type RolloutKind = (typeof rolloutKinds)[number]

/** What names a rollout within its kind. Unused parts are null. */
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
}

/** The unique text of a rollout's name within its kind: what the database's unique index holds. */
export function rolloutIdentity(rollout: Omit<RolloutName, 'kind'>): string {
  return JSON.stringify([
    rollout.project,
    rollout.provider,
    rollout.compositeApp,
    rollout.compositeAppVersion,
    rollout.name,
  ])
}

/** The rollout of a deployment that nobody declared: one per deploymentId (PRODUCT, "One model for four systems"). */
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
