import type { DeviceCondition, DeviceFilter } from '../../../../store/read/targets/targets.ts'
import { builder } from '../../builder.ts'
import { toFilter } from '../../mutations/input.ts'
import { LabelInput } from '../label.ts'
import { keysOf } from '../node.ts'
import { DeviationKindEnum } from '../targets/deviation.ts'
import { ConnectivityEnum } from '../vocabulary.ts'
import {
  type Given,
  type InputFields,
  LabelConditionInput,
  toLabelCondition,
  toSelector,
  whereInput,
} from './selector.ts'

const deviceConditions = (t: InputFields) => ({
  deviceIds: t.stringList({ description: 'Device IDs.' }),
  parents: t.stringList({ description: 'IDs of devices that are its parent.' }),
  labels: t.field({
    type: [LabelInput],
    description: 'Labels. The device has at least one of them, from its registration or reported by itself.',
  }),
  label: t.field({
    type: LabelConditionInput,
    description: 'A condition on a label, from the registration or reported by the device itself.',
  }),
  connectivity: t.field({ type: [ConnectivityEnum], description: 'Connectivity.' }),
  lastHeardBefore: t.field({ type: 'DateTime', description: 'Last heard before this time, or never.' }),
  lastHeardAfter: t.field({ type: 'DateTime', description: 'Last heard after this time.' }),
  registered: t.boolean({ description: 'Whether the device is registered.' }),
  deviations: t.field({
    type: [DeviationKindEnum],
    description:
      'Kinds of deviation. The device has sent at least one report with one of them, or its ID looks like another.',
  }),
  vendors: t.stringList({ description: 'Vendors, as the capabilities say.' }),
  models: t.stringList({ description: 'Model numbers, as the capabilities say.' }),
  rolloutIds: t.idList({ description: 'Node IDs of rollouts. The device has a deployment of at least one of them.' }),
  failing: t.boolean({ description: 'Whether the device has a deployment in the state FAILED.' }),
  text: t.string({ description: 'A substring of the device ID or name. Case-insensitive.' }),
})

const DeviceWhereRef = whereInput('DeviceWhere', 'devices', deviceConditions)

export const DeviceFilterRef = builder.inputType('DeviceFilter', {
  description:
    'Selects devices. A device matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.',
  fields: (t) => ({
    ...deviceConditions(t),
    retired: t.boolean({ description: 'True: only retired devices. Absent or false: only devices in service.' }),
    where: t.field({ type: DeviceWhereRef, description: 'Conditions that are combined by `and`, `or` and `not`.' }),
  }),
})

function toDeviceCondition({ rolloutIds, label, ...rest }: Given<typeof deviceConditions>): DeviceCondition {
  return toFilter({ ...rest, label: toLabelCondition(label), rolloutKeys: keysOf('Rollout', rolloutIds) })
}

export function toDeviceFilter(input: typeof DeviceFilterRef.$inferInput | null | undefined): DeviceFilter {
  const { retired, where, ...conditions } = input ?? {}
  const selector = toSelector(where, toDeviceCondition)
  return toFilter({ ...toDeviceCondition(conditions), retired, where: selector })
}
