import { createHash } from 'node:crypto'
import type { Change } from '../../../../domain/change.ts'
import { mentions } from '../../../../domain/selectors/selector.ts'
import type { Target } from '../../../../domain/target.ts'
import type { TargetOrder } from '../../../../store/read/orders/target-order.ts'
import type { DeviceCondition, DeviceFilter } from '../../../../store/read/targets/targets.ts'
import { builder } from '../../builder.ts'
import type { TargetNode } from '../../execution/loaders/targets.ts'
import { mapPage } from '../../objects/connection.ts'
import { Device } from '../../objects/refs.ts'
import { DeviceFilterRef, toDeviceFilter } from '../../objects/selectors/filters.ts'
import { targetOrderArgs, toTargetOrder } from '../../objects/targets/target-order.ts'
import { implementListUpdate, liveListArgs, streamList } from './list-update.ts'
import type { ListReads } from './live-list.ts'

const DeviceListUpdate = implementListUpdate({ name: 'Device', field: 'device', of: 'devices', type: Device })

builder.subscriptionField('devices', (t) =>
  t.field({
    access: 'viewer',
    type: DeviceListUpdate,
    description:
      'The first rows of `devices`, live: the whole list first, then what changes in it. A row changes with its device and with each deployment of it. The list is read after each change of the fleet, for at most a fifth of the time: registrations, labels and the time when a device was last heard are no changes, and are found with the next one.',
    args: {
      filter: t.arg({ type: DeviceFilterRef, description: 'Selects devices.' }),
      ...targetOrderArgs(),
      ...liveListArgs(
        'an order by the last contact or a filter by anything but connectivity, maintenance, names, retirement and deployments, or for a caller with an access scope',
      ),
    },
    subscribe: (_, { filter: given, orderBy, ...page }, context) => {
      const filter = toDeviceFilter(given)
      const order = toTargetOrder(orderBy)
      const key = `devices ${JSON.stringify([filter, order])}`
      return streamList(context, key, { topics: ['all'], isPaced: true }, readsOf(filter, order), page)
    },
    resolve: (event) => event.payload,
  }),
)

/** The devices that changes touch. */
type Touched = ReadonlySet<number>

function readsOf(filter: DeviceFilter, order: TargetOrder): ListReads<TargetNode, Touched> {
  return {
    page: async (reader, page, asOf) => {
      const found = await reader.devices(null, filter, page, order, asOf)
      return found && mapPage(found, (device) => ({ key: device.key, revision: versionOf(device) }))
    },
    touched: (changes) => new Set(changes.flatMap(targetsOf)),
    isTouched: (touched, key) => touched.has(key),
    row: (reader, key) => reader.target(key, null),
    changedSince: (reader, keys, after) => reader.withChangedDeployments(keys, after),
    // A device that a caller no longer sees is missing in the past as well.
    hasPast: (reader) => hasHistory(filter, order) && !reader.isNarrow,
  }
}

function targetsOf({ targetKey, fromTargetKey }: Change): number[] {
  return [targetKey, fromTargetKey].filter((key) => key !== null)
}

/** Differs if a value of the device itself has changed, except its last contact. In the past, values without a history are the present ones. */
function versionOf(device: Target): string {
  const { displayName, labels, parentKey, registered, expectedInterval, connectivity } = device
  const { maintenanceKey, maintenanceReason, maintenanceUntil } = device
  const { revokedAt, retiredAt, retiredReason, replacedByKey } = device
  const values = [
    ...[displayName, labels, parentKey, registered, expectedInterval, connectivity],
    ...[revokedAt, retiredAt, retiredReason, replacedByKey],
    ...[maintenanceKey, maintenanceReason, maintenanceUntil],
  ]
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 12)
}

const withoutHistory = [
  ...(['parents', 'labels', 'label', 'lastHeardBefore', 'lastHeardAfter', 'registered'] as const),
  ...(['deviations', 'vendors', 'models', 'text'] as const),
] satisfies readonly (keyof DeviceCondition)[]

function hasHistory(filter: DeviceFilter, { field }: TargetOrder): boolean {
  return field !== 'LAST_HEARD' && !mentions<DeviceCondition>(filter, withoutHistory)
}
