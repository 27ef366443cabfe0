/** Parses a ResourceBundleState of the API server: its owner, and the resources in it (docs/wire.md §2.3). */

import { DomainError } from '../../domain/errors.ts'
import { idProblem } from '../../platform/body/text.ts'
import type { Paced } from '../../platform/limits/pace.ts'
import { memberOf } from '../../platform/outbound/json.ts'
import { type BundleState, canShow, parseBundleState } from '../dialects/kubernetes/bundle-state.ts'

export const path = '/apis/k8splugin.io/v1alpha1/resourcebundlestates'

export interface CustomResource {
  /** The owner: `<context>-<app>`. */
  readonly label: string
  readonly state: BundleState
  readonly isGone: boolean
  /** Approximate size in characters. */
  readonly size: number
}

/** Null: it does not name an instance. `size`: about its bytes. */
export function* readCustomResource(object: object, size: number, isGone = false): Paced<CustomResource | null> {
  try {
    const state = yield* parseBundleState(object)
    const label = labelOf(state)
    if (!isGone) return { label, state, isGone, size }
    return { label, isGone, size: 0, state: { ...state, objects: [], unreadable: [] } }
  } catch (error) {
    if (error instanceof DomainError) return null
    throw error
  }
}

/** The empty state of a deleted custom resource. */
export function goneResource(
  whose: Pick<BundleState, 'context' | 'component' | 'uid'>,
  resourceVersion: string | null,
): CustomResource {
  // Without a uid, there is no version to compare this one with.
  const version = whose.uid === null ? null : resourceVersion
  const state = { ...whose, resourceVersion: version, objects: [], unreadable: [], canShow }
  return { label: labelOf(whose), state, isGone: true, size: 0 }
}

/** The same without its version, so that it counts as the newest. */
export function withoutVersion(one: CustomResource): CustomResource {
  return { ...one, state: { ...one.state, resourceVersion: null } }
}

export function labelOf({ context, component }: Pick<BundleState, 'context' | 'component'>): string {
  return `${context}-${component}`
}

/** Null: it has none, or one that no API server has. */
export function resourceVersionOf(object: unknown): string | null {
  const version = memberOf(memberOf(object, 'metadata'), 'resourceVersion')
  return typeof version === 'string' && idProblem(version) === null ? version : null
}

/** Namespace and name. Null: it has no name, or one that no API server has. */
export function nameOf(object: unknown): string | null {
  const metadata = memberOf(object, 'metadata')
  const [namespace, name] = [memberOf(metadata, 'namespace') ?? '', memberOf(metadata, 'name')]
  const isNamed = idProblem(name) === null && (namespace === '' || idProblem(namespace) === null)
  return isNamed ? `${namespace}/${name}` : null
}
