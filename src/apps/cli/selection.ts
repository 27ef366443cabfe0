/** The deployments that a command selects: its options, and the filters of the API that they become. */
import type { LabelCondition } from '../../domain/selectors/label-condition.ts'
import type { Api } from './api.ts'

export interface Selection {
  readonly rollout: RolloutKey | null
  readonly deployments: readonly string[]
  readonly devices: readonly string[]
  readonly labels: readonly { readonly key: string; readonly value: string }[]
  /** Conditions on labels, all of which must hold. */
  readonly selector: readonly LabelCondition[]
  /** Conditions on the labels of rollouts themselves, all of which must hold. */
  readonly rolloutSelector: readonly LabelCondition[]
  /** On what changes over time, as fields of the filter. */
  readonly conditions: Readonly<Record<string, unknown>>
}

export interface RolloutKey {
  readonly name: string
  readonly project?: string
  readonly compositeApp?: string
  readonly compositeAppVersion?: string
  readonly provider?: string
}

/** The named object does not exist: exit code 1. */
export class NotThereError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NotThereError'
  }
}

/** The DeploymentFilter. Throws a NotThereError when the rollout does not exist. */
export async function deploymentFilter(api: Api, selection: Selection): Promise<object> {
  return withoutEmpty({
    rolloutIds: await rolloutIds(api, selection.rollout),
    deploymentIds: selection.deployments,
    deviceIds: selection.devices,
    labels: selection.labels,
    where: whereOf(selection),
    ...selection.conditions,
  })
}

/** The ChangeFilter: a change can be filtered by fewer properties than a deployment, see `watchable`. */
export async function changeFilter(api: Api, selection: Selection): Promise<object> {
  const { deployments, devices, labels } = selection
  return withoutEmpty({
    rolloutIds: await rolloutIds(api, selection.rollout),
    deploymentIds: deployments,
    deviceIds: devices,
    labels,
    where: whereOf(selection),
  })
}

/** A filter of rollouts: by labels of what they run on, and by their own. */
export function rolloutFilter(selection: Selection): object {
  const { labels, selector, rolloutSelector } = selection
  const and = [...selector.map((label) => ({ label })), ...rolloutSelector.map((rolloutLabel) => ({ rolloutLabel }))]
  return withoutEmpty({ labels, where: and.length === 0 ? null : { and } })
}

/** A filter of devices or resources, which are selected only by labels. */
export function labelFilter(selection: Selection): object {
  return withoutEmpty({ labels: selection.labels, where: whereOf(selection) })
}

function whereOf({ selector }: Selection): object | null {
  return selector.length === 0 ? null : { and: selector.map((label) => ({ label })) }
}

/** The options that can filter changes. */
export const watchable: readonly string[] = ['rollout', 'deployment', 'device', 'label', 'selector']

async function rolloutIds(api: Api, key: RolloutKey | null): Promise<readonly string[]> {
  if (!key) return []
  const { rollout } = await api.ask<{ rollout: { id: string } | null }>(
    'query Find($key: RolloutKey!) { rollout(key: $key) { id } }',
    { key },
  )
  if (!rollout) throw await rolloutNotThere(api, key)
  return [rollout.id]
}

const rolloutParts = ['name', 'provider', 'project', 'compositeApp', 'compositeAppVersion'] as const

export type ShownRollout = Readonly<Record<(typeof rolloutParts)[number], string | null>>

export const rolloutKeyFields = rolloutParts.join(' ')

const keyOptions = [
  ['provider', '--provider'],
  ['project', '--project'],
  ['compositeApp', '--composite-app'],
  ['compositeAppVersion', '--composite-app-version'],
] as const

/** Names the options that are missing, if there are rollouts of this name in a project, an application or a provider. */
export async function rolloutNotThere(api: Api, key: RolloutKey): Promise<NotThereError> {
  const { rollouts } = await api.ask<{ rollouts: { nodes: ShownRollout[] } }>(
    `query Similar($name: String!) { rollouts(filter: { names: [$name] }, first: 5) {
      nodes { ${rolloutKeyFields} } } }`,
    { name: key.name },
  )
  const similar = rollouts.nodes.map((node) =>
    keyOptions.flatMap(([part, option]) => (node[part] ? [`${option} ${node[part]}`] : [])).join(' '),
  )
  const hint =
    similar.length === 0 ? '' : `; there is one with ${similar.map((each) => each || 'no other option').join(', or ')}`
  return new NotThereError(`rollout not found: ${rolloutName(key)}${hint}`)
}

/** Every part of the key must agree: rollouts of several applications may have one name. */
export function isRollout(key: RolloutKey, shown: ShownRollout): boolean {
  return rolloutParts.every((part) => (key[part] ?? null) === shown[part])
}

function rolloutName({ name, project, compositeApp, compositeAppVersion, provider }: RolloutKey): string {
  return [provider, project, compositeApp, compositeAppVersion, name].filter((part) => part !== undefined).join('/')
}

function withoutEmpty(filter: Readonly<Record<string, unknown>>): object {
  const isSaid = (value: unknown): boolean => value !== null && (!Array.isArray(value) || value.length > 0)
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => isSaid(value)))
}
