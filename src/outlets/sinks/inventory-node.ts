/**
 * An instance's resource as A&AI's k8s-resource node (docs/wire.md §4).
 *
 * The schema has no field for a status, and every other text field has a meaning of its own: `data-source-version`, for example, is the
 * object's resourceVersion. `labels` is a list of free `key=value` texts that A&AI can be queried by, so the readiness is one of them.
 */
import { createHash } from 'node:crypto'
import type { Readiness } from '../../domain/values.ts'
import type { PresentResource } from './reconcile.ts'

/** The words of its label (docs/wire.md §4). */
const readinessWords: Readonly<Record<Readiness, string>> = {
  READY: 'Ready',
  PENDING: 'Pending',
  FAILED: 'Failed',
  UNKNOWN: 'Unknown',
}

/** The content of so-cnf-adapter's announcement of an instance. */
export interface Belonging {
  readonly cloudOwner: string
  readonly cloudRegion: string
  readonly tenantId: string
  readonly genericVnfId: string | null
  readonly vfModuleId: string | null
  readonly callbackUrl: string | null
  /** The id of the announcement. Its result is sent to the caller. */
  readonly request: string
  /** The last announcement whose result was sent. */
  readonly toldRequest: string | null
  /** Earlier announcements, oldest first. The result of the newest one also answers those that had no result before it. */
  readonly earlier?: readonly Announced[]
  /** The nodes of the instance are being removed. The sink is removed after them. */
  readonly isEnding: boolean
  /** The last value that was written to operational-status for the announcement of `toldRequest`. */
  readonly inService: boolean | null
}

type Announced = Pick<Belonging, 'request' | 'callbackUrl'>

/** The announcements that wait for a result, oldest first. The last one is the newest, unless there are none. */
export function awaitedBy({ request, callbackUrl, toldRequest, earlier = [] }: Belonging): readonly Announced[] {
  const all = [...earlier, { request, callbackUrl }]
  return all.slice(all.findIndex((one) => one.request === toldRequest) + 1)
}

interface Node extends Readonly<Record<string, unknown>> {
  readonly uri: string
  readonly body: Readonly<Record<string, unknown>>
}

export function describeNode(
  publicUrl: string,
  belonging: Belonging,
  instanceId: string,
  { resource, detail }: PresentResource,
  relationships: readonly object[],
): Node {
  const { name, group, version, kind, namespace } = resource
  const id = resourceId(instanceId, { name, namespace, kind, group, version }, belonging)
  const metadata = metadataOf(detail)
  const labels = Object.entries(metadata.labels ?? {}).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const ours = [`k8splugin.io/rb-instance-id=${instanceId}`, `rollcall/readiness=${readinessWords[resource.readiness]}`]
  const query = new URLSearchParams({ kind, name, ...(namespace !== null && { namespace }) })
  return {
    uri: `${tenantPath(belonging)}/k8s-resources/k8s-resource/${id}`,
    body: {
      id,
      name,
      group,
      version,
      kind,
      namespace: namespace ?? '',
      labels: [...ours, ...labels.filter((label) => !ours.some((one) => keyOf(one) === keyOf(label)))],
      selflink: `${publicUrl}/v1/instance/${encodeURIComponent(instanceId)}/status?${query}`,
      'data-owner': 'Rollcall',
      'data-source': 'Rollcall',
      ...(typeof metadata.resourceVersion === 'string' && { 'data-source-version': metadata.resourceVersion }),
      ...(relationships.length > 0 && { 'relationship-list': { relationship: relationships } }),
    },
  }
}

function keyOf(label: string): string {
  return label.slice(0, label.indexOf('='))
}

/** docs/wire.md §4: the hexadecimal SHA-256 of nine texts run together. */
export function resourceId(
  instanceId: string,
  object: {
    readonly name: string
    readonly namespace: string | null
    readonly kind: string
    readonly group: string
    readonly version: string
  },
  { cloudOwner, cloudRegion, tenantId }: Pick<Belonging, 'cloudOwner' | 'cloudRegion' | 'tenantId'>,
): string {
  const { name, namespace, kind, group, version } = object
  const parts = [instanceId, name, namespace ?? '', kind, group, version, cloudOwner, cloudRegion, tenantId]
  return createHash('sha256').update(parts.join('')).digest('hex')
}

function metadataOf(detail: unknown): { readonly labels?: object; readonly resourceVersion?: unknown } {
  if (typeof detail !== 'object' || detail === null || !('metadata' in detail)) return {}
  const { metadata } = detail
  return typeof metadata === 'object' && metadata !== null ? metadata : {}
}

function tenantPath({ cloudOwner, cloudRegion, tenantId }: Belonging): string {
  const [owner, region, tenant] = [cloudOwner, cloudRegion, tenantId].map(encodeURIComponent)
  return `/cloud-infrastructure/cloud-regions/cloud-region/${owner}/${region}/tenants/tenant/${tenant}`
}

export function vnfPath({ genericVnfId }: Belonging): string | null {
  return genericVnfId && `/network/generic-vnfs/generic-vnf/${encodeURIComponent(genericVnfId)}`
}

export function modulePath(belonging: Belonging): string | null {
  const vnf = vnfPath(belonging)
  return vnf && belonging.vfModuleId && `${vnf}/vf-modules/vf-module/${encodeURIComponent(belonging.vfModuleId)}`
}
