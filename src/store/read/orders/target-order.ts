/** The orders of lists of devices and clusters. Only the name has an index: any other order sorts all that match. */
import { sql } from 'drizzle-orm'
import type { Target } from '../../../domain/target.ts'
import type { Order, SortKey } from '../../sql/order.ts'
import { targets } from '../../tables/schema.ts'

export const targetOrderFields = ['NAME', 'CONNECTIVITY', 'LAST_HEARD'] as const
export type TargetOrderField = (typeof targetOrderFields)[number]

export interface TargetOrder {
  readonly field: TargetOrderField
  readonly descending: boolean
}

export const byName: TargetOrder = { field: 'NAME', descending: false }

type By = Omit<SortKey<Target>, 'descending'>

const fields: Readonly<Record<Exclude<TargetOrderField, 'NAME'>, By>> = {
  CONNECTIVITY: { by: targets.connectivity, type: 'connectivity', of: ({ connectivity }) => connectivity },
  // Milliseconds. An index would cost each report. A target that was never heard counts as the oldest.
  LAST_HEARD: {
    by: sql`coalesce((extract(epoch from ${targets.lastHeardAt}) * 1000)::bigint, 0)`,
    type: 'bigint',
    of: ({ lastHeardAt }) => lastHeardAt ?? 0,
  },
}

const name: By = { by: targets.name, type: 'text', of: (target) => target.name }
const key: By = { by: targets.key, type: 'bigint', of: (target) => target.key }
/** Names of devices are unique. Two providers may have clusters of one name. */
const total = { DEVICE: [name], CLUSTER: [name, key] } as const

export function targetOrder(kind: 'DEVICE' | 'CLUSTER', { field, descending }: TargetOrder): Order<Target> {
  const keys = field === 'NAME' ? total[kind] : [fields[field], ...total[kind]]
  return {
    name: field === 'NAME' && !descending ? kind : `${kind}_${field}_${descending ? 'DESC' : 'ASC'}`,
    keys: keys.map((by) => ({ ...by, descending })),
  }
}
