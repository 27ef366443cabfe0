/** Which deployments a command speaks of: the options that say so, and what the API is asked with. */
import type { DeploymentState } from '../domain/deployment.ts'
import type { Convergence } from '../domain/desired.ts'
import type { Api } from './api.ts'

export interface Selection {
  readonly rollout: RolloutKey | null
  readonly deployments: readonly string[]
  readonly devices: readonly string[]
  readonly states: readonly DeploymentState[]
  readonly convergence: readonly Convergence[]
  readonly labels: readonly { readonly key: string; readonly value: string }[]
  readonly applications: readonly string[]
  readonly components: readonly string[]
  readonly errorCodes: readonly string[]
  readonly text: string | null
  readonly stalled: boolean | null
}

export interface RolloutKey {
  readonly name: string
  readonly project?: string
  readonly compositeApp?: string
  readonly compositeAppVersion?: string
  readonly provider?: string
}

/** There is nothing of that name: exit code 1. */
export class NotThereError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NotThereError'
  }
}

/** The DeploymentFilter. Throws a NotThereError when there is no such rollout. */
export async function deploymentFilter(api: Api, selection: Selection): Promise<object> {
  return withoutEmpty({
    rolloutIds: await rolloutIds(api, selection.rollout),
    deploymentIds: selection.deployments,
    deviceIds: selection.devices,
    states: selection.states,
    convergence: selection.convergence,
    labels: selection.labels,
    applications: selection.applications,
    components: selection.components,
    errorCodes: selection.errorCodes,
    text: selection.text,
    stalled: selection.stalled,
  })
}

/** The ChangeFilter: changes know less of their deployment than it does itself, see `watchable`. */
export async function changeFilter(api: Api, selection: Selection): Promise<object> {
  const { deployments, devices, labels } = selection
  return withoutEmpty({
    rolloutIds: await rolloutIds(api, selection.rollout),
    deploymentIds: deployments,
    deviceIds: devices,
    labels,
  })
}

/** The options by which changes can be chosen. */
export const watchable: readonly string[] = ['rollout', 'deployment', 'device', 'label']

async function rolloutIds(api: Api, key: RolloutKey | null): Promise<readonly string[]> {
  if (!key) return []
  const { rollout } = await api.ask<{ rollout: { id: string } | null }>(
    'query Find($key: RolloutKey!) { rollout(key: $key) { id } }',
    { key },
  )
  if (!rollout) throw new NotThereError(`there is no rollout ${rolloutName(key)}`)
  return [rollout.id]
}

export function rolloutName({ name, project, compositeApp, compositeAppVersion, provider }: RolloutKey): string {
  return [provider, project, compositeApp, compositeAppVersion, name].filter((part) => part !== undefined).join('/')
}

function withoutEmpty(filter: Readonly<Record<string, unknown>>): object {
  const isSaid = (value: unknown): boolean => value !== null && (!Array.isArray(value) || value.length > 0)
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => isSaid(value)))
}
