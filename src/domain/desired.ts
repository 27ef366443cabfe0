/** What a device should run (Margo, "Workload Deployment"), and how what it says it runs compares. */

import { gatewayOf } from './target.ts'
import { compareDigits, type DeploymentState, type Digits, type Millis } from './values.ts'

export const convergences = ['CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN'] as const
export type Convergence = (typeof convergences)[number]

/** `sha256:` and the hexadecimal hash of a document's exact bytes. */
export type Digest = string

/** What is desired of a deployment, and how far it has come. */
export interface Desired {
  /** The version of its device's manifest that last changed this deployment's document or withdrew it; null: none ever did. */
  readonly targetManifestVersion: Digits | null
  /** Of the document it should run; null: none, or withdrawn. */
  readonly documentDigest: Digest | null
  readonly convergence: Convergence
}

export const nothingDesired: Desired = { targetManifestVersion: null, documentDigest: null, convergence: 'UNKNOWN' }

/**
 *   nothing desired, or the device has not said which version it has adopted   UNKNOWN
 *   it has adopted an older version than the one meant                         STALE, whatever it says of that
 *   FAILED on that version or a newer one                                      FAILED
 *   INSTALLED with a document, REMOVED when it was withdrawn                   CONVERGED
 *   anything else                                                              APPLYING
 */
export function convergenceOf(of: {
  readonly targetManifestVersion: Digits | null
  readonly documentDigest: Digest | null
  readonly adoptedManifestVersion: Digits | null
  readonly state: DeploymentState
}): Convergence {
  const { targetManifestVersion: target, documentDigest, adoptedManifestVersion: adopted, state } = of
  if (target === null || adopted === null) return 'UNKNOWN'
  if (compareDigits(adopted, target) < 0) return 'STALE'
  if (state === 'FAILED') return 'FAILED'
  return state === (documentDigest === null ? 'REMOVED' : 'INSTALLED') ? 'CONVERGED' : 'APPLYING'
}

/** The device whose manifest lists what should run on `deviceId`: the client that fetches it. */
export function manifestOwner(deviceId: string): string {
  return gatewayOf(deviceId)
}

/** Every device begins with this one, which is empty. Versions are of [1, 2^64-1] (docs/wire.md §1.2). */
export const firstManifestVersion = 1

/** Bytes of documents in one of them: more than a hundred of the largest, or ten thousand small ones. */
export const largestManifest = 32 << 20

/** One version of what a device should run. */
export interface Manifest {
  /** The device's. */
  readonly targetKey: number
  /** One more than the one before. */
  readonly version: number
  readonly at: Millis
  readonly who: string
  readonly why: string
  /** Of all its documents together; null: it has none. */
  readonly bundleDigest: Digest | null
  /** Bytes. */
  readonly bundleSize: number | null
}

/** A document's stay in a device's manifests. */
export interface ManifestEntry {
  readonly targetKey: number
  readonly deploymentId: string
  readonly deploymentKey: number
  /** Whom it was declared for: the manifest's device or a child of it. */
  readonly deviceId: string
  /** The first version that has it. */
  readonly since: number
  /** The first version that has it no more; null: the newest has it. */
  readonly until: number | null
  readonly digest: Digest
  /** Bytes. */
  readonly size: number
}
