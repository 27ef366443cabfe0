/** What the reference model takes and keeps. */
import type { DeploymentState } from '../../../src/domain/values.ts'
import { derived, isConsistent, type Order, type Part, type Parts } from './reference-rules.ts'

export interface ModelReport extends Order {
  readonly reporter: string
  readonly device: string
  readonly id: string
  readonly state: DeploymentState
  readonly error: string | null
  readonly parts: Parts
}

export interface ModelDeclaration {
  readonly device: string
  readonly id: string
  readonly application: string | null
  readonly parts: readonly string[] | null
}

/** What the past knows of a deployment. */
export interface Image {
  readonly id: string
  readonly device: string
  readonly rollout: string
  readonly application: string | null
  readonly state: DeploymentState
  readonly derived: DeploymentState | null
  readonly consistent: boolean
  readonly error: string | null
  readonly stage: string | null
  readonly parts: Readonly<Record<string, Part & { readonly revision: number }>>
  readonly attempt: number
  readonly version: number | null
  readonly stalled: boolean
  readonly forgotten: boolean
  readonly at: number
  readonly revision: number
}

export interface Known {
  readonly number: number
  image: Image
  reporter: string
  declared: readonly string[]
  claimed: boolean
  marks: Order
  repeats: number
}

/** `what`: in one line, what it says besides its kind. `entry`: those of one come from the same command about one subject. */
export interface ModelChange {
  readonly revision: number
  readonly at: number
  readonly entry: number
  readonly id: string | null
  readonly device: string
  readonly kind: string
  readonly part: string | null
  readonly to: string | null
  readonly what: string
}

export interface KeptReport {
  readonly number: number
  readonly verdict: string
  readonly staleBy: string | null
  readonly receivedAt: number
  readonly revision: number | null
  readonly state: DeploymentState
}

export interface Retired {
  readonly revision: number
  readonly results: readonly { readonly isChanged: boolean; readonly children: number; readonly deployments: number }[]
}

export type Connectivity = 'UNKNOWN' | 'ONLINE' | 'OFFLINE'

export const unordered: Order = { version: null, boot: null, seq: null, time: null }
export const untried = { attempt: 0, version: null, stalled: false } as const
export const blank = {
  application: null,
  state: 'PENDING',
  derived: null,
  consistent: true,
  error: null,
  stage: null,
  parts: {},
} as const

/** What is said of one device is not said of another. */
export function elsewhere(image: Image, device: string): Image {
  const { id, rollout, application, version, forgotten, at, revision } = image
  return { ...blank, ...untried, id, rollout, application, version, forgotten, at, revision, device }
}

export function withDerived(image: Image): Image {
  const { state, parts, stage } = image
  return { ...image, derived: derived(parts), consistent: isConsistent(state, parts, stage) }
}

export function nextAttempt({ attempt, state }: Image, to: DeploymentState): number {
  const isOver = state === 'INSTALLED' || state === 'FAILED' || state === 'REMOVED'
  return attempt === 0 || (isOver && (to === 'PENDING' || to === 'INSTALLING')) ? attempt + 1 : attempt
}

export function withDeclared(parts: Parts, declared: readonly string[]): Parts {
  const missing = declared.filter((name) => !(name in parts))
  return { ...parts, ...Object.fromEntries(missing.map((name) => [name, { state: 'PENDING', error: null } as const])) }
}
