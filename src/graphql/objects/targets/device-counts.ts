import type { Connectivity } from '../../../domain/target.ts'
import { builder } from '../../builder.ts'
import { DeviceFilterRef, toDeviceFilter } from '../selectors/device-filter.ts'

type Counts = Readonly<Partial<Record<Connectivity, number>>>

const DeviceCounts = builder.objectRef<Counts>('DeviceCounts').implement({
  access: 'viewer',
  description: 'Number of devices by connectivity.',
  fields: (t) => ({
    total: t.int({
      description: 'Number of devices.',
      resolve: (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0),
    }),
    online: t.int({ description: 'Number of ONLINE devices.', resolve: ({ ONLINE = 0 }) => ONLINE }),
    offline: t.int({ description: 'Number of OFFLINE devices.', resolve: ({ OFFLINE = 0 }) => OFFLINE }),
    retrying: t.int({ description: 'Number of RETRYING devices.', resolve: ({ RETRYING = 0 }) => RETRYING }),
    unknown: t.int({ description: 'Number of UNKNOWN devices.', resolve: ({ UNKNOWN = 0 }) => UNKNOWN }),
  }),
})

builder.queryField('deviceCounts', (t) =>
  t.field({
    access: 'viewer',
    type: DeviceCounts,
    description: 'Devices that match the filter, counted by connectivity. Without a filter, all devices in service.',
    args: { filter: t.arg({ type: DeviceFilterRef, description: 'Selects the devices to count.' }) },
    resolve: async (_, { filter }, context) => (await context.reader()).deviceCounts(toDeviceFilter(filter)),
  }),
)
