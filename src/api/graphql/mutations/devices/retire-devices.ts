import { retireDevices } from '../../../../ingest/commands/devices/retire.ts'
import { lazyList } from '../../../../ingest/item-list.ts'
import type { Retirement } from '../../../../store/read/targets/retirement.ts'
import { builder } from '../../builder.ts'
import { required } from '../../execution/required.ts'
import { Device } from '../../objects/refs.ts'
import { DeviceFilterRef, toDeviceFilter } from '../../objects/selectors/filters.ts'
import { maxListSize } from '../input.ts'
import { manifestUpdateOf } from '../manifest-update.ts'
import { addMutation } from '../mutation.ts'

const RetiringDeviceInput = builder.inputType('RetiringDeviceInput', {
  description: 'A device to retire.',
  fields: (t) => ({
    deviceId: t.string({ required: true, description: 'The device ID that its reports use.' }),
    replacedBy: t.string({ description: 'The device ID of the replacement. The device must exist.' }),
  }),
})

interface RetiredRow {
  readonly key: number
  readonly isChanged: boolean
  readonly children: number
  readonly deployments: number
}

const RetiredDevice = builder.objectRef<RetiredRow>('RetiredDevice').implement({
  access: 'operator',
  description: 'A retired device.',
  fields: (t) => ({
    // Read only if the operation asks for it: there may be 10,000.
    device: t.field({
      type: Device,
      description: 'The device.',
      resolve: async ({ key }, _, context) => required(await (await context.reader()).target(key, null), 'device'),
    }),
    changed: t.exposeBoolean('isChanged', {
      description:
        'Whether this call changed the device. False: it was already retired with the same reason and replacement.',
    }),
    children: t.exposeInt('children', { description: 'Number of devices behind it that were retired too.' }),
    deployments: t.exposeInt('deployments', {
      description: 'Number of deployments that were closed, including those of devices behind it.',
    }),
  }),
})

addMutation('retireDevices', {
  access: 'operator of all',
  description:
    'Retires devices, all or none: `retirement` counts before what that changes. Their credentials end and their reports are refused (410). They and their deployments leave all lists and counts, and their documents leave the manifests. Their history is retained. `reinstateDevices` puts them back in service.',
  input: {
    description: 'The devices to retire.',
    fields: (t) => ({
      devices: t.field({
        type: [RetiringDeviceInput],
        description: 'The devices, without duplicates. At most 10,000. Give either these or `filter`.',
      }),
      filter: t.field({
        type: DeviceFilterRef,
        description:
          'Selects the devices in service to retire: at least one, and at most 10,000. With `lastHeardBefore`, the call is refused if one of them is heard meanwhile.',
      }),
      reason: t.string({
        required: true,
        description: 'The reason: 1 to 256 characters. It is shown with the devices and in their changes.',
      }),
      withChildren: t.boolean({
        defaultValue: false,
        description:
          'Whether to retire the devices behind them too. If false, a gateway with devices in service behind it is refused.',
      }),
    }),
  },
  errors: ['NotFound', 'Conflict'],
  check: async ({ devices, filter, reason }, check, context) => {
    check.name(['reason'], reason)
    if (filter) {
      if (devices) check.add(['filter'], 'give either devices or a filter')
      if (Object.keys(filter).length === 0) check.add(['filter'], 'must have a condition')
      const names = await (await context.reader()).namesToRetire(toDeviceFilter(filter), maxListSize + 1)
      if (names.length === 0) check.add(['filter'], 'no device in service matches')
      if (names.length > maxListSize) check.add(['filter'], `more than ${maxListSize} devices match`)
      return names.map((deviceId) => ({ deviceId, replacedBy: null }))
    }
    if (!devices) check.add(['devices'], 'give either devices or a filter')
    if (!devices || !check.list(['devices'], devices)) return []
    devices.forEach(({ deviceId, replacedBy }, index) => {
      check.name(['devices', index, 'deviceId'], deviceId)
      check.name(['devices', index, 'replacedBy'], replacedBy)
    })
    check.unique(
      devices.map((_, index) => ['devices', index, 'deviceId']),
      devices.map(({ deviceId }) => deviceId),
      'is a duplicate',
    )
    return devices
  },
  act: async ({ filter, reason, withChildren }, context, devices) => {
    const { revision, results } = await context.write(
      retireDevices(
        lazyList(devices, ({ deviceId, replacedBy }) => ({ deviceId, replacedBy: replacedBy ?? null })),
        {
          reason,
          withChildren: withChildren ?? false,
          silentSince: toDeviceFilter(filter).lastHeardBefore,
          manifestUpdate: manifestUpdateOf(context, `retired: ${reason}`),
        },
      ),
    )
    return { revision, results }
  },
  success: {
    access: 'operator',
    description: 'All devices are retired.',
    fields: (t) => ({
      revision: t.expose('revision', { type: 'Revision', description: 'The newest revision after the commit.' }),
      results: t.expose('results', {
        type: [RetiredDevice],
        description: 'One result per device, in the order of the input.',
      }),
    }),
  },
})

const RetirementPreview = builder.objectRef<Retirement>('RetirementPreview').implement({
  access: 'operator of all',
  description: 'What a retirement would change now.',
  fields: (t) => ({
    devices: t.exposeInt('devices', { description: 'Number of selected devices.' }),
    children: t.exposeInt('children', { description: 'Number of other devices in service behind them.' }),
    deployments: t.exposeInt('deployments', {
      description:
        'Number of deployments that would be closed. With `withChildren`, including those of devices behind.',
    }),
  }),
})

builder.queryFields((t) => ({
  retirement: t.field({
    access: 'operator of all',
    type: RetirementPreview,
    description: 'What `retireDevices` with this filter would change now. Nothing is changed.',
    args: {
      filter: t.arg({ type: DeviceFilterRef, required: true, description: 'Selects devices in service.' }),
      withChildren: t.arg.boolean({ defaultValue: false, description: 'Whether the devices behind them retire too.' }),
    },
    resolve: async (_, { filter, withChildren }, context) =>
      (await context.reader()).retirement(toDeviceFilter(filter), withChildren ?? false),
  }),
}))
