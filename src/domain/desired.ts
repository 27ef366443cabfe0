/** What a device should run (Margo, "Workload Deployment"), and how its reports compare with that. */
import { gatewayOf } from './target.ts'
import { compareDigits, type DeploymentState, type Digits, type Millis, type Revision } from './values.ts'

export const convergences = ['CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN'] as const
export type Convergence = (typeof convergences)[number]

/** `sha256:` and the hexadecimal hash of a document's exact bytes. */
export type Digest = string

/** What is desired of a deployment, and how far the device has applied it. */
export interface Desired {
  /** The version of the device's manifest that last changed or withdrew this deployment's document. Null: no version ever had one. */
  readonly targetManifestVersion: Digits | null
  /** The digest of the document that it should run. Null: none, or withdrawn. */
  readonly documentDigest: Digest | null
  readonly convergence: Convergence
}

export const nothingDesired: Desired = { targetManifestVersion: null, documentDigest: null, convergence: 'UNKNOWN' }

/**
 *   nothing is desired, or the adopted version is unknown            UNKNOWN
 *   the adopted version is older than the target version             STALE, in any state
 *   FAILED on the target version or a newer one                      FAILED
 *   INSTALLED with a document, or REMOVED without one                CONVERGED
 *   anything else                                                    APPLYING
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

/** The device whose manifest lists what should run on `deviceId`. A gateway fetches for its children. */
export function manifestOwner(deviceId: string): string {
  return gatewayOf(deviceId)
}

/** Every device starts with this version, which is empty. Versions are in [1, 2^64-1] (docs/wire.md §1.2). */
export const firstManifestVersion = 1

/** Bytes of all documents in one manifest: more than a hundred of the largest, or ten thousand small ones. */
export const largestManifest = 32 << 20

/** Deployments of a rollout were declared. */
export interface Declaration {
  readonly rolloutKey: number
  /** The newest revision that the command made in the rollout. */
  readonly revision: Revision
  readonly at: Millis
  readonly caller: string
  readonly why: string
}

/** One version of what a device should run. */
export interface Manifest {
  /** The device. */
  readonly targetKey: number
  /** The previous version + 1. */
  readonly version: number
  readonly at: Millis
  readonly caller: string
  readonly why: string
  /** The digest of the bundle of all documents. Null: there are no documents. */
  readonly bundleDigest: Digest | null
  /** Bytes. */
  readonly bundleSize: number | null
}

/** The range of manifest versions in which a device's manifest lists a document. */
export interface ManifestEntry {
  readonly targetKey: number
  readonly deploymentId: string
  readonly deploymentKey: number
  /** The device that the document is declared for: the owner of the manifest, or a child of it. */
  readonly deviceId: string
  /** The first version that lists it. */
  readonly since: number
  /** The first later version that does not list it. Null: the newest version lists it. */
  readonly until: number | null
  readonly digest: Digest
  /** Bytes. */
  readonly size: number
}
