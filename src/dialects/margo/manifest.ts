/** Margo's state manifest: all that a device should run, by digest. Absence is removal. */
import { digestOf } from './digest.ts'

export const manifestMediaType = 'application/vnd.margo.manifest.v1+json'
export const bundleMediaType = 'application/vnd.margo.bundle.v1+tar+gzip'

export interface Artifact {
  readonly digest: string
  /** Bytes; null: not said. */
  readonly size: number | null
}

export interface Manifest {
  /** Decimal digits: it may be beyond a double. */
  readonly version: string
  readonly deployments: readonly (Artifact & { readonly deploymentId: string })[]
  /** Null exactly where there are no deployments. */
  readonly bundle: Artifact | null
}

/** `base` is where the urls begin, with the prefix of the request: `/api/v1`, or `/margo/api/v1/clients/edge-1`. The same gives the same bytes, for ever. */
export function createManifest(manifest: Manifest, base: string): { readonly bytes: Buffer; readonly etag: string } {
  const bundle = manifest.bundle && {
    mediaType: bundleMediaType,
    ...describe(manifest.bundle),
    url: `${base}/bundles/${manifest.bundle.digest}`,
  }
  const deployments = manifest.deployments
    .toSorted((a, b) => (a.deploymentId < b.deploymentId ? -1 : 1))
    .map((one) => ({
      deploymentId: one.deploymentId,
      ...describe(one),
      url: `${base}/deployments/${encodeURIComponent(one.deploymentId)}/${one.digest}`,
    }))
  // By hand, because no number of JavaScript holds every version.
  const rest = JSON.stringify({ bundle, deployments }).slice(1)
  const bytes = Buffer.from(`{"manifestVersion":${manifest.version},${rest}`)
  return { bytes, etag: `"${digestOf(bytes)}"` }
}

function describe({ digest, size }: Artifact): { digest: string; sizeBytes?: number } {
  return size === null ? { digest } : { digest, sizeBytes: size }
}
