import { DeviceFilterRef, toDeviceFilter } from '../../objects/selectors/filters.ts'
import { maxListSize } from '../input.ts'
import { addMutation } from '../mutation.ts'
import { RegisteredDevice, register } from './register-devices.ts'

const unchanged = { name: null, labels: null, parent: null, expectedInterval: null, publicKeys: null, spiffeIds: null }

addMutation('reinstateDevices', {
  access: 'operator of all',
  description:
    'Puts retired devices back in service, all or none: it undoes `retireDevices`. Each gets a new token, and its former credentials stay invalid. Its deployments return when they are reported or declared.',
  input: {
    description: 'The devices to reinstate.',
    fields: (t) => ({
      devices: t.stringList({
        description:
          'The device IDs of retired devices, without duplicates. At most 10,000. Give either these or `filter`.',
      }),
      filter: t.field({
        type: DeviceFilterRef,
        description: 'Selects the retired devices to reinstate: at least one, and at most 10,000.',
      }),
      withChildren: t.boolean({
        defaultValue: false,
        description: 'Whether to reinstate the retired devices behind them too.',
      }),
    }),
  },
  errors: ['Conflict'],
  check: async ({ devices, filter, withChildren }, check, context) => {
    const [field, condition] = devices ? ['devices', { deviceIds: devices }] : ['filter', toDeviceFilter(filter)]
    if (Boolean(devices) === Boolean(filter)) check.add([field], 'give either devices or a filter')
    else if (filter && Object.keys(filter).length === 0) check.add([field], 'must have a condition')
    if (check.problems.length > 0 || !check.list(['devices'], devices)) return []
    const names = await (await context.reader()).namesToReinstate(condition, withChildren ?? false, maxListSize + 1)
    if (names.length === 0) check.add([field], 'no retired device matches')
    if (names.length > maxListSize) check.add([field], `more than ${maxListSize} devices match`)
    const found = new Set(names)
    devices?.forEach((name, index) => {
      if (!found.has(name)) check.add(['devices', index], 'is no retired device')
    })
    return names
  },
  act: (_, context, names) =>
    register(
      context,
      names.map((deviceId) => ({ deviceId, ...unchanged })),
    ),
  success: {
    access: 'operator',
    description: 'All devices are in service.',
    fields: (t) => ({
      results: t.expose('results', {
        type: [RegisteredDevice],
        description: 'One result per device: gateways before the devices behind them.',
      }),
    }),
  },
})
