/** What the mutations of orchestrators share: the same facts, the same road and the same words as the routes of EMCO's dialect. */
import { type ClusterName, parseCluster } from '../dialects/emco/routes.ts'
import { clusterIntents, deploymentIntentGroup } from '../domain/rollout.ts'
import type { LifecycleRolloutName } from '../ingest/commands/act.ts'
import type { InputCheck } from './input-check.ts'
import type { RolloutKey } from './rollout.ts'

/** Of the argument that names it. */
export const rolloutDescription =
  'The rollout: a deployment intent group by project, composite application, its version and name, or a cluster’s network intents by provider and the cluster’s name.'

/** Problems go to `check`; what is returned is only used when there are none. */
export function readRollout(check: InputCheck, key: typeof RolloutKey.$inferInput): LifecycleRolloutName {
  const { name, project, compositeApp, compositeAppVersion, provider } = key
  const parts = { name, project, compositeApp, compositeAppVersion, provider }
  for (const [field, value] of Object.entries(parts)) check.name(['rollout', field], value)
  if (provider) {
    for (const field of ['project', 'compositeApp', 'compositeAppVersion'] as const)
      if (parts[field]) check.add(['rollout', field], 'is not part of the name of a cluster’s network intents')
    return clusterIntents(provider, name) as LifecycleRolloutName
  }
  for (const field of ['project', 'compositeApp', 'compositeAppVersion'] as const)
    if (!parts[field]) check.add(['rollout', field], 'is part of the name of a deployment intent group: give it')
  return deploymentIntentGroup(
    project ?? '',
    compositeApp ?? '',
    compositeAppVersion ?? '',
    name,
  ) as LifecycleRolloutName
}

/** Likewise. */
export function readCluster(check: InputCheck, path: readonly (string | number)[], text: string): ClusterName {
  check.text(path, text.split('+')[0])
  check.text(path, text.slice(text.indexOf('+') + 1))
  const cluster = parseCluster(text)
  if (!cluster) check.add(path, 'must be provider+name')
  return cluster ?? { kind: 'CLUSTER', provider: '', name: text }
}
