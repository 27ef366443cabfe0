/** Rows of instances, actions and resources, and the objects of the domain (see rows.ts). */
import type { Instance } from '../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../domain/orchestration/lifecycle.ts'
import type { Resource } from '../../domain/orchestration/resource.ts'
import { bundles, instances, lifecycleActions, resources, resourceTallies } from '../tables/schema.ts'
import type { Bundle, Tally } from '../write/contract.ts'
import { columnText, fieldsBut, type RowOf, rowMapper } from './row-mapping.ts'

/** A document has up to 8 MiB: it is read alone (read/orchestration/documents.ts). */
const instanceFields = fieldsBut(instances, 'document')
export const instanceColumns = columnText(instances, instanceFields)
export type InstanceRecord = RowOf<typeof instances, (typeof instanceFields)[number]>
export const toInstance: (row: InstanceRecord) => Instance = rowMapper(instances, instanceFields)

export type ActionRecord = RowOf<typeof lifecycleActions>
export const toAction: (row: ActionRecord) => LifecycleAction = rowMapper(lifecycleActions, fieldsBut(lifecycleActions))

export type ResourceRecord = RowOf<typeof resources>
export const toResource: (row: ResourceRecord) => Resource = rowMapper(resources, fieldsBut(resources))

export type BundleRecord = RowOf<typeof bundles>
export const toBundle: (row: BundleRecord) => Bundle = rowMapper(bundles, fieldsBut(bundles))

export type TallyRecord = RowOf<typeof resourceTallies>
const tallyOf = rowMapper(resourceTallies, fieldsBut(resourceTallies))

export function toTally(row: TallyRecord): Tally {
  const tally = tallyOf(row)
  return { ...tally, sync: tally.sync === 'NONE' ? null : tally.sync }
}
