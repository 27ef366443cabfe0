import type { DeviationKind } from '../deviation.ts'
import type { Connectivity } from '../target.ts'
import { type FilterDeclaration, flag, keys, label, labels, text, texts, time, values } from './filter.ts'

export const deviceFilter = {
  name: 'Device',
  one: 'a device',
  many: 'devices',
  conditions: {
    deviceIds: texts('Device IDs.'),
    sites: texts('Paths of sites. The device is at one of them, or at a site below one.'),
    parents: texts('IDs of devices that are its parent.'),
    labels: labels('Labels. The device has at least one of them, from its registration or reported by itself.'),
    label: label('A condition on a label, from the registration or reported by the device itself.'),
    connectivity: values<Connectivity>('Connectivity')('Connectivity.'),
    inMaintenance: flag('Whether the device is in a maintenance window.'),
    lastHeardBefore: time('Last heard before this time, or never.'),
    lastHeardAfter: time('Last heard after this time.'),
    registered: flag('Whether the device is registered.'),
    deviations: values<DeviationKind>('DeviationKind')(
      'Kinds of deviation. The device has sent at least one report with one of them, or its ID looks like another.',
    ),
    vendors: texts('Vendors, as the capabilities say.'),
    models: texts('Model numbers, as the capabilities say.'),
    rolloutIds: keys('Rollout', 'Node IDs of rollouts. The device has a deployment of at least one of them.'),
    failing: flag('Whether the device has a deployment in the state FAILED.'),
    text: text('A substring of the device ID or name. Case-insensitive.'),
  },
  own: { retired: flag('True: only retired devices. Absent or false: only devices in service.') },
} as const satisfies FilterDeclaration
