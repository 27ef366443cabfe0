/** Margo's state manifest: everything that a device should run, by digest. A deployment that it does not list must be removed. */
import { digestOf } from '../../../platform/body/digest.ts'
import type { Artifact, Manifest } from '../devices.ts'

export const manifestMediaType = 'application/vnd.margo.manifest.v1+json'
export const bundleMediaType = 'application/vnd.margo.bundle.v1+tar+gzip'

/** `base`: the start of the URLs, with the prefix of the request: `/api/v1`, or `/margo/api/v1/clients/edge-1`. The same input always gives the same bytes. */
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
  // Written by hand, because a JavaScript number cannot hold every version.
  const rest = JSON.stringify({ bundle, deployments }).slice(1)
  const bytes = Buffer.from(`{"manifestVersion":${manifest.version},${rest}`)
  return { bytes, etag: `"${digestOf(bytes)}"` }
}

function describe({ digest, size }: Artifact): { digest: string; sizeBytes?: number } {
  return size === null ? { digest } : { digest, sizeBytes: size }
}
