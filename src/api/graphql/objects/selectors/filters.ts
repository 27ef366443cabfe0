import { deviceFilter } from '../../../../domain/nouns/device.ts'
import { resourceFilter } from '../../../../domain/nouns/resource.ts'
import { rolloutFilter } from '../../../../domain/nouns/rollout.ts'
import { type FilterInput, implementFilter } from './selector.ts'

export const { ref: DeviceFilterRef, read: toDeviceFilter } = implementFilter(deviceFilter)
export const { ref: ResourceFilterRef, read: toResourceFilter } = implementFilter(resourceFilter)
export const { ref: RolloutFilterRef, read: toRolloutFilter } = implementFilter(rolloutFilter)

export type ResourceFilterInput = FilterInput<typeof resourceFilter>
