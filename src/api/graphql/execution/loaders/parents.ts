/** The parents of lists, and what the store calls them. All parents in one load have the same kind. */
import type { ChangeScope } from '../../../../store/read/changes/scope.ts'
import type { Scope } from '../../../../store/read/deployment-scope.ts'
import type { ResourceScope } from '../../../../store/read/orchestration/resource-scope.ts'
import type { DeviceScope } from '../../../../store/read/targets/targets.ts'
import { batched } from './batching.ts'

export type Parent = { readonly of: 'fleet' } | { readonly of: 'rollout' | 'target' | 'instance'; readonly key: number }
export type ResourceParent =
  | { readonly of: 'fleet' }
  | { readonly of: 'rollout' | 'instance' | 'deployment'; readonly key: number }
  | { readonly of: 'component'; readonly key: number; readonly name: string }
export type ChangeParent =
  | { readonly of: 'fleet' }
  | { readonly of: 'deployment' | 'rollout' | 'resource'; readonly key: number }
  | { readonly of: 'component'; readonly key: number; readonly name: string }

/** Loads for many parents at once. Parents of one kind and equal arguments share a statement. */
export function perParent<Rest extends readonly unknown[], Value>(
  load: (scope: Scope, ...rest: Rest) => Promise<ReadonlyMap<number, Value>>,
) {
  const loader = batched((keys: readonly number[], of: Parent['of'], ...rest: Rest) =>
    load(of === 'fleet' ? { of } : { of, keys }, ...rest),
  )
  return (parent: Parent, ...rest: Rest) => loader(parent.of === 'fleet' ? 0 : parent.key, parent.of, ...rest)
}

/** As perParent, for the parents of resources. */
export function perResourceParent<Rest extends readonly unknown[], Value>(
  load: (scope: ResourceScope, ...rest: Rest) => Promise<ReadonlyMap<number, Value>>,
) {
  const loader = batched(
    (parents: readonly ResourceParent[], _of: ResourceParent['of'], ...rest: Rest) =>
      load(resourceScopeOf(parents), ...rest),
    answerKey,
  )
  return (parent: ResourceParent, ...rest: Rest) => loader(parent, parent.of, ...rest)
}

/** As perParent, for the parents of changes. */
export function perChangeParent<Rest extends readonly unknown[], Value>(
  load: (scope: ChangeScope, ...rest: Rest) => Promise<ReadonlyMap<number, Value>>,
) {
  const loader = batched(
    (parents: readonly ChangeParent[], _of: ChangeParent['of'], ...rest: Rest) => load(changeScopeOf(parents), ...rest),
    answerKey,
  )
  return (parent: ChangeParent, ...rest: Rest) => loader(parent, parent.of, ...rest)
}

export function deviceScopeOf(of: DeviceScope['of'], keys: readonly number[]): DeviceScope {
  return of === 'fleet' ? { of } : { of, keys }
}

function changeScopeOf(parents: readonly ChangeParent[]): ChangeScope {
  const [first] = parents
  if (!first || first.of === 'fleet') return { of: 'fleet' }
  return first.of === 'component' ? componentsOf(parents) : { of: first.of, keys: keysOf(parents) }
}

function resourceScopeOf(parents: readonly ResourceParent[]): ResourceScope {
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
function answerKey(parent: ChangeParent | ResourceParent, index: number): number {
  if (parent.of === 'component') return index
  return parent.of === 'fleet' ? 0 : parent.key
}
