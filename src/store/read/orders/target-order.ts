/** The orders of lists of devices and clusters. Only the name has an index: any other order sorts all that match. */
import { sql } from 'drizzle-orm'
import type { Target } from '../../../domain/target.ts'
import { type Order, type OrderBy, orderOfKeys, type Undirected } from '../../sql/order.ts'
import { targets } from '../../tables/schema.ts'

export const targetOrderFields = ['NAME', 'CONNECTIVITY', 'LAST_HEARD'] as const
export type TargetOrderField = (typeof targetOrderFields)[number]

export type TargetOrder = OrderBy<TargetOrderField>

export const byName: TargetOrder = { field: 'NAME', descending: false }

const fields: Readonly<Record<Exclude<TargetOrderField, 'NAME'>, Undirected<Target>>> = {
  CONNECTIVITY: { by: targets.connectivity, type: 'connectivity', of: ({ connectivity }) => connectivity },
  // Milliseconds. An index would cost each report. A target that was never heard counts as the oldest.
  LAST_HEARD: {
    by: sql`coalesce((extract(epoch from ${targets.lastHeardAt}) * 1000)::bigint, 0)`,
    type: 'bigint',
    of: ({ lastHeardAt }) => lastHeardAt ?? 0,
  },
}

const name: Undirected<Target> = { by: targets.name, type: 'text', of: (target) => target.name }
const key: Undirected<Target> = { by: targets.key, type: 'bigint', of: (target) => target.key }
/** Names of devices are unique. Two providers may have clusters of one name. */
const total = { DEVICE: [name], CLUSTER: [name, key] } as const

export function targetOrder(kind: 'DEVICE' | 'CLUSTER', order: TargetOrder): Order<Target> {
  const keys = order.field === 'NAME' ? total[kind] : [fields[order.field], ...total[kind]]
  return orderOfKeys(kind, order, byName, keys)
}
