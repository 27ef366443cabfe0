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
  const [first] = parents
  if (!first || first.of === 'fleet') return { of: 'fleet' }
  return first.of === 'component' ? componentsOf(parents) : { of: first.of, keys: keysOf(parents) }
}

export function resourceScopeOf(parents: readonly ResourceParent[]): ResourceScope {
  const [first] = parents
  if (!first || first.of === 'fleet') return { of: 'fleet' }
  return first.of === 'component' ? componentsOf(parents) : { of: first.of, keys: keysOf(parents) }
}

function keysOf(parents: readonly (ChangeParent | ResourceParent)[]): number[] {
  return parents.flatMap((parent) => ('key' in parent ? [parent.key] : []))
}

function componentsOf(parents: readonly (ChangeParent | ResourceParent)[]) {
  const items = parents.flatMap((parent) =>
    parent.of === 'component' ? [{ deploymentKey: parent.key, name: parent.name }] : [],
  )
  return { of: 'component', items } as const
}

/** Results of components are keyed by index. */
export function answerKey(parent: ChangeParent | ResourceParent, index: number): number {
  if (parent.of === 'component') return index
  return parent.of === 'fleet' ? 0 : parent.key
}
