/** The parents of lists, and what the store calls them. All parents in one load have the same kind. */
import type { ChangeScope } from '../../store/read/changes/changes.ts'
import type { Scope } from '../../store/read/deployments.ts'
import type { ResourceScope } from '../../store/read/resource-scope.ts'
import type { DeviceScope } from '../../store/read/targets.ts'

export type Parent = { readonly of: 'fleet' } | { readonly of: 'rollout' | 'target' | 'instance'; readonly key: number }
export type ResourceParent =
  | { readonly of: 'fleet' }
  | { readonly of: 'rollout' | 'instance' | 'deployment'; readonly key: number }
  | { readonly of: 'component'; readonly key: number; readonly name: string }
export type ChangeParent =
  | { readonly of: 'fleet' }
  | { readonly of: 'deployment' | 'rollout' | 'resource'; readonly key: number }
  | { readonly of: 'component'; readonly key: number; readonly name: string }

export function scopeOf(of: Scope['of'], keys: readonly number[]): Scope {
  return of === 'fleet' ? { of } : { of, keys }
}

export function deviceScopeOf(of: DeviceScope['of'], keys: readonly number[]): DeviceScope {
  return of === 'fleet' ? { of } : { of, keys }
}

export function changeScopeOf(parents: readonly ChangeParent[]): ChangeScope {
  const items = parents.flatMap((parent) =>
    parent.of === 'component' ? [{ deploymentKey: parent.key, name: parent.name }] : [],
  )
  if (items.length > 0) return { of: 'component', items }
  const [first] = parents
  if (!first || first.of === 'fleet' || first.of === 'component') return { of: 'fleet' }
  return { of: first.of, keys: parents.flatMap((parent) => ('key' in parent ? [parent.key] : [])) }
}

export function resourceScopeOf(parents: readonly ResourceParent[]): ResourceScope {
  const [first] = parents
  if (!first || first.of === 'fleet') return { of: 'fleet' }
  if (first.of !== 'component')
    return { of: first.of, keys: parents.flatMap((parent) => ('key' in parent ? [parent.key] : [])) }
  const items = parents.flatMap((parent) =>
    parent.of === 'component' ? [{ deploymentKey: parent.key, name: parent.name }] : [],
  )
  return { of: 'component', items }
}

/** Results of components are keyed by index. */
export function resourceAnswerKey(parent: ResourceParent, index: number): number {
  if (parent.of === 'component') return index
  return parent.of === 'fleet' ? 0 : parent.key
}

/** Results of components are keyed by index. */
export function changeAnswerKey(parent: ChangeParent, index: number): number {
  if (parent.of === 'component') return index
  return parent.of === 'fleet' ? 0 : parent.key
}
