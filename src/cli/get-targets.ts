/** `rollcall get devices`, `get device`, `get clusters` and `get resources`: what deployments run on, and what they consist of. */
import type { Api } from './api.ts'
import { type Connection, type Output, pages } from './get.ts'
import { labelFilter, NotThereError, type Selection } from './selection.ts'
import { type CountData, countFields, describeCounts, jsonLine, momentOf, readCounts } from './show.ts'
import { table } from './terminal.ts'

interface ShownDevice {
  readonly deviceId: string
  readonly name: string
  readonly connectivity: string
  readonly lastHeardAt: string | null
  readonly labels: readonly { readonly key: string; readonly value: string }[]
  readonly deploymentCounts: CountData
}

const deviceFields = `deviceId name connectivity lastHeardAt labels { key value } deploymentCounts { ${countFields} }`

const moment = (at: string | null): string => (at === null ? 'never' : momentOf(at))

export async function getDevices(
  api: Api,
  { terminal, isJson }: Output,
  selection: Selection,
  limit: number,
): Promise<void> {
  const filter = labelFilter(selection)
  const rows = [['DEVICE', 'CONNECTIVITY', 'LAST HEARD', 'DEPLOYMENTS']]
  const document = `query List($filter: DeviceFilter, $first: Int!, $after: String) {
    devices(filter: $filter, first: $first, after: $after) { nodes { ${deviceFields} } pageInfo { hasNextPage endCursor } }
  }`
  for await (const device of pages<ShownDevice>(limit, (page) =>
    api.ask<{ devices: Connection<ShownDevice> }>(document, { filter, ...page }).then((data) => data.devices),
  )) {
    const { deviceId, connectivity, lastHeardAt, deploymentCounts } = device
    if (isJson) terminal.write(jsonLine(device))
    else
      rows.push([
        deviceId,
        connectivity.toLowerCase(),
        moment(lastHeardAt),
        describeCounts(terminal, readCounts(deploymentCounts)),
      ])
  }
  if (!isJson) terminal.write(`${table(rows).join('\n')}\n`)
}

export async function getDevice(api: Api, { terminal, isJson }: Output, deviceId: string): Promise<void> {
  const { device } = await api.ask<{ device: ShownDevice | null }>(
    `query Get($deviceId: String!) { device(deviceId: $deviceId) { ${deviceFields} } }`,
    { deviceId },
  )
  if (!device) throw new NotThereError(`device not found: ${deviceId}`)
  if (isJson) return terminal.write(jsonLine(device))
  const labels = device.labels.map(({ key, value }) => `${key}=${value}`).join(', ')
  const facts = [
    ['device', device.deviceId],
    ['name', device.name === device.deviceId ? '' : device.name],
    ['connectivity', device.connectivity.toLowerCase()],
    ['last heard', moment(device.lastHeardAt)],
    ['labels', labels],
    ['deployments', describeCounts(terminal, readCounts(device.deploymentCounts))],
  ].filter(([, value]) => value !== '')
  terminal.write(`${table(facts).join('\n')}\n`)
}

interface ShownCluster {
  /** Null: a cloud region. */
  readonly provider: string | null
  readonly name: string
  readonly connectivity: string
}

export async function getClusters(api: Api, { terminal, isJson }: Output, limit: number): Promise<void> {
  const rows = [['PROVIDER', 'CLUSTER', 'CONNECTIVITY']]
  const document = `query List($first: Int!, $after: String) {
    clusters(first: $first, after: $after) { nodes { provider name connectivity } pageInfo { hasNextPage endCursor } }
  }`
  for await (const cluster of pages<ShownCluster>(limit, (page) =>
    api.ask<{ clusters: Connection<ShownCluster> }>(document, page).then((data) => data.clusters),
  )) {
    const { provider, name, connectivity } = cluster
    if (isJson) terminal.write(jsonLine(cluster))
    else rows.push([provider ?? '-', name, connectivity.toLowerCase()])
  }
  if (!isJson) terminal.write(`${table(rows).join('\n')}\n`)
}

interface ShownResource {
  readonly kind: string
  readonly name: string
  readonly namespace: string | null
  readonly component: string
  readonly readiness: string
  readonly sync: string | null
  readonly reason: string | null
  readonly target: { readonly name: string }
}

export async function getResources(
  api: Api,
  { terminal, isJson }: Output,
  selection: Selection,
  limit: number,
): Promise<void> {
  const filter = labelFilter(selection)
  const rows = [['KIND', 'NAME', 'NAMESPACE', 'COMPONENT', 'ON', 'READINESS', 'SYNC', 'REASON']]
  const document = `query List($filter: ResourceFilter, $first: Int!, $after: String) {
    resources(filter: $filter, first: $first, after: $after) {
      nodes { id kind name namespace component readiness sync presence reason message target { name } }
      pageInfo { hasNextPage endCursor }
    }
  }`
  for await (const resource of pages<ShownResource>(limit, (page) =>
    api.ask<{ resources: Connection<ShownResource> }>(document, { filter, ...page }).then((data) => data.resources),
  )) {
    const { kind, name, namespace, component, target, readiness, sync, reason } = resource
    if (isJson) terminal.write(jsonLine(resource))
    else
      rows.push([
        ...[kind, name, namespace ?? '-', component, target.name],
        ...[readiness.toLowerCase(), sync?.toLowerCase() ?? '-', reason ?? '-'],
      ])
  }
  if (!isJson) terminal.write(`${table(rows).join('\n')}\n`)
}
