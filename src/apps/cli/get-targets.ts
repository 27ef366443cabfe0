/** `rollcall get devices`, `get device`, `get clusters` and `get resources`: what deployments run on, and what they consist of. */
import type { Api } from './api.ts'
import { type Output, printList } from './list.ts'
import { labelFilter, NotThereError, type Selection } from './selection.ts'
import { type CountData, countFields, describeCounts, jsonLine, momentOf, readCounts } from './show.ts'
import { table } from './terminal.ts'

/** Null: it is in no window. */
type ShownMaintenance = { readonly reason: string; readonly until: string } | null

const maintenanceFields = 'maintenance { reason until }'

interface ShownDevice {
  readonly deviceId: string
  readonly name: string
  readonly connectivity: string
  readonly maintenance: ShownMaintenance
  readonly lastHeardAt: string | null
  readonly labels: readonly { readonly key: string; readonly value: string }[]
  readonly deploymentCounts: CountData
}

const deviceFields = `deviceId name connectivity ${maintenanceFields} lastHeardAt labels { key value } deploymentCounts { ${countFields} }`

const untilOf = (maintenance: ShownMaintenance): string => (maintenance ? momentOf(maintenance.until) : '-')

const moment = (at: string | null): string => (at === null ? 'never' : momentOf(at))

export function getDevices(api: Api, output: Output, selection: Selection, limit: number): Promise<void> {
  const list = {
    of: 'devices',
    filter: ['DeviceFilter', labelFilter(selection)],
    fields: deviceFields,
    head: ['DEVICE', 'CONNECTIVITY', 'MAINTENANCE UNTIL', 'LAST HEARD', 'DEPLOYMENTS'],
    row: ({ deviceId, connectivity, maintenance, lastHeardAt, deploymentCounts }: ShownDevice) => [
      deviceId,
      connectivity.toLowerCase(),
      untilOf(maintenance),
      moment(lastHeardAt),
      describeCounts(output.terminal, readCounts(deploymentCounts)),
    ],
  } as const
  return printList(api, output, list, limit)
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
    ['maintenance', device.maintenance ? `until ${untilOf(device.maintenance)}: ${device.maintenance.reason}` : ''],
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
  readonly maintenance: ShownMaintenance
}

export function getClusters(api: Api, output: Output, limit: number): Promise<void> {
  const list = {
    of: 'clusters',
    filter: null,
    fields: `provider name connectivity ${maintenanceFields}`,
    head: ['PROVIDER', 'CLUSTER', 'CONNECTIVITY', 'MAINTENANCE UNTIL'],
    row: ({ provider, name, connectivity, maintenance }: ShownCluster) => [
      ...[provider ?? '-', name, connectivity.toLowerCase(), untilOf(maintenance)],
    ],
  } as const
  return printList(api, output, list, limit)
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

export function getResources(api: Api, output: Output, selection: Selection, limit: number): Promise<void> {
  const list = {
    of: 'resources',
    filter: ['ResourceFilter', labelFilter(selection)],
    fields: 'id kind name namespace component readiness sync presence reason message target { name }',
    head: ['KIND', 'NAME', 'NAMESPACE', 'COMPONENT', 'ON', 'READINESS', 'SYNC', 'REASON'],
    row: ({ kind, name, namespace, component, target, readiness, sync, reason }: ShownResource) => [
      ...[kind, name, namespace ?? '-', component, target.name],
      ...[readiness.toLowerCase(), sync?.toLowerCase() ?? '-', reason ?? '-'],
    ],
  } as const
  return printList(api, output, list, limit)
}
