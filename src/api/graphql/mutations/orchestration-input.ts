/** Shared input parsing of the orchestrators' mutations, which use the same commands as the orchestrators' routes. */
import { clusterIntents, deploymentIntentGroup, type LifecycleRolloutName } from '../../../domain/rollout.ts'
import { type ClusterName, parseCluster } from '../../../domain/target.ts'
import type { RolloutKey } from '../objects/rollouts/rollout.ts'
import type { InputCheck } from './input-check.ts'

/** Description of the argument `rollout`. */
export const rolloutDescription =
  'The rollout: a deployment intent group (project, composite application, its version, name) or the network intents of a cluster (provider, cluster name).'

/** Adds problems to `check`. The result is valid only if there are none. */
export function readRollout(check: InputCheck, key: typeof RolloutKey.$inferInput): LifecycleRolloutName {
  const { name, project, compositeApp, compositeAppVersion, provider } = key
  const parts = { name, project, compositeApp, compositeAppVersion, provider }
  for (const [field, value] of Object.entries(parts)) check.name(['rollout', field], value)
  if (provider) {
    if (provider.includes('+')) check.add(['rollout', 'provider'], 'must not contain +')
    for (const field of ['project', 'compositeApp', 'compositeAppVersion'] as const)
      if (parts[field])
        check.add(['rollout', field], 'must be absent if provider is given (network intents of a cluster)')
    return clusterIntents(provider, name) as LifecycleRolloutName
  }
  for (const field of ['project', 'compositeApp', 'compositeAppVersion'] as const)
    if (!parts[field]) check.add(['rollout', field], 'is required for a deployment intent group')
  return deploymentIntentGroup(
    project ?? '',
    compositeApp ?? '',
    compositeAppVersion ?? '',
    name,
  ) as LifecycleRolloutName
}

/** Adds problems to `check`. The result is valid only if there are none. */
export function readCluster(check: InputCheck, path: readonly (string | number)[], text: string): ClusterName {
  check.text(path, text.split('+')[0])
  check.text(path, text.slice(text.indexOf('+') + 1))
  const cluster = parseCluster(text)
  if (!cluster) check.add(path, 'must be provider+name')
  return cluster ?? { kind: 'CLUSTER', provider: '', name: text }
}
