/** Parses a ResourceBundleState of the API server: its owner, and the resources in it (docs/wire.md §2.3). */
import { type BundleState, canShow, parseBundleState } from '../dialects/emco/bundle-state.ts'
import { DomainError } from '../domain/errors.ts'
import { atOnce } from '../limits/pace.ts'

export const path = '/apis/k8splugin.io/v1alpha1/resourcebundlestates'

export interface CustomResource {
  /** The owner: `<context>-<app>`. */
  readonly label: string
  readonly state: BundleState
  readonly isGone: boolean
  /** Approximate size in characters. */
  readonly size: number
}

/** Null: it does not name an instance. */
export function readCustomResource(object: object, isGone = false): CustomResource | null {
  try {
    const state = atOnce(parseBundleState(object))
    const label = labelOf(state)
    if (!isGone) return { label, state, isGone, size: sizeOf(object) }
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

export function resourceVersionOf(object: object): string | null {
  const { metadata } = object as { metadata?: { readonly resourceVersion?: unknown } }
  const version = metadata?.resourceVersion
  return typeof version === 'string' && version !== '' ? version : null
}

/** Namespace and name. */
export function nameOf(object: object): string {
  const { metadata } = object as { metadata?: { readonly namespace?: unknown; readonly name?: unknown } }
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  return Object.entries(value).reduce((sum, [key, member]) => sum + key.length + sizeOf(member), 0)
}
