import type { Connectivity } from '../../../../domain/target.ts'
import { builder } from '../../builder.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Rollout } from '../refs.ts'
import { DeviceFilterRef, toDeviceFilter } from '../selectors/filters.ts'

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
    args: { filter: t.arg({ type: DeviceFilterRef, description: 'Selects the devices to count.' }), ...pastArgs() },
    resolve: async (_, args, context) => {
      const asOf = await pastOf(context, args)
      return (await (await context.reader()).deviceCounts(null, toDeviceFilter(args.filter), asOf)) ?? {}
    },
  }),
)

builder.objectField(Rollout, 'deviceCounts', (t) =>
  t.field({
    type: DeviceCounts,
    description: 'The devices in service with a deployment of it that match the filter, counted by connectivity.',
    args: { filter: t.arg({ type: DeviceFilterRef, description: 'Selects the devices to count.' }) },
    resolve: async ({ key, asOf }, { filter }, { reader }) =>
      (await (await reader()).deviceCounts(key, toDeviceFilter(filter), asOf)) ?? {},
  }),
)
